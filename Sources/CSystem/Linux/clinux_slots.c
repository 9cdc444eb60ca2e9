#define _GNU_SOURCE
#include "clinux_slots.h"

#include "sanitizer.h"

#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

/// Slots that are made at once: 1.5 MiB of addresses.
enum { SLOTS = 64, SLAB_SIZE = SLOTS * CLINUX_SLOT_SIZE };

/// The beginning of a slot, and that of each block in it: the bytes in use, this included, and the bytes of the block. As
/// long as malloc aligns.
struct head {
    _Alignas(max_align_t) size_t size;
};

_Static_assert(sizeof(struct head) == 16, "a block is aligned as malloc's are");

struct clinux_slots {
    /// The addresses of all slots that there may be; the first `made` bytes can be used.
    char *start;
    size_t size;
    size_t made;
    /// Slots that are not in use; room for all that are made.
    char **unused;
    size_t unused_count;
};

struct clinux_slots *clinux_slots_new(size_t most) {
    size_t size = (most + SLOTS - 1) / SLOTS * SLAB_SIZE;
    struct clinux_slots *slots = calloc(1, sizeof *slots);
    char *start = slots ? mmap(NULL, size, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0) : MAP_FAILED;
    if (start == MAP_FAILED) {
        free(slots);
        return NULL;
    }
    // A huge page would take memory for all that is never touched. It fails where the kernel has none.
    madvise(start, size, MADV_NOHUGEPAGE);
    slots->start = start;
    slots->size = size;
    return slots;
}

void clinux_slots_delete(struct clinux_slots *slots) {
    if (!slots)
        return;
    for (size_t offset = 0; offset < slots->made; offset += SLAB_SIZE)
        __lsan_unregister_root_region(slots->start + offset, SLAB_SIZE);
    ASAN_UNPOISON_MEMORY_REGION(slots->start, slots->made);
    munmap(slots->start, slots->size);
    free(slots->unused);
    free(slots);
}

/// Makes further slots.
static bool grow(struct clinux_slots *slots) {
    if (slots->made == slots->size)
        return false;
    char **unused = realloc(slots->unused, (slots->made / CLINUX_SLOT_SIZE + SLOTS) * sizeof *unused);
    if (!unused)
        return false;
    slots->unused = unused;
    char *slab = slots->start + slots->made;
    if (mprotect(slab, SLAB_SIZE, PROT_READ | PROT_WRITE))
        return false;
    ASAN_POISON_MEMORY_REGION(slab, SLAB_SIZE);
    __lsan_register_root_region(slab, SLAB_SIZE);
    slots->made += SLAB_SIZE;
    for (int index = SLOTS - 1; index >= 0; index--)
        unused[slots->unused_count++] = slab + (size_t)index * CLINUX_SLOT_SIZE;
    return true;
}

bool clinux_slots_have(const struct clinux_slots *slots, const void *block) {
    return slots && (uintptr_t)block - (uintptr_t)slots->start < slots->size;
}

void *clinux_slots_take(struct clinux_slots *slots) {
    if (!slots || (slots->unused_count == 0 && !grow(slots)))
        return NULL;
    char *slot = slots->unused[--slots->unused_count];
    ASAN_UNPOISON_MEMORY_REGION(slot, sizeof(struct head));
    return slot;
}

void clinux_slots_return(struct clinux_slots *slots, void *slot) {
    if (!slot)
        return;
    // Locked memory is not taken back.
    if (madvise(slot, CLINUX_SLOT_SIZE, MADV_DONTNEED))
        memset(slot, 0, sizeof(struct head));
    ASAN_POISON_MEMORY_REGION(slot, CLINUX_SLOT_SIZE);
    slots->unused[slots->unused_count++] = slot;
}

size_t clinux_slots_resident(const struct clinux_slots *slots) {
    const size_t page = (size_t)sysconf(_SC_PAGESIZE);
    unsigned char pages[SLAB_SIZE / 4096];
    size_t found = 0;
    for (size_t offset = 0; slots && offset < slots->made; offset += SLAB_SIZE) {
        if (mincore(slots->start + offset, SLAB_SIZE, pages))
            continue;
        for (size_t number = 0; number < SLAB_SIZE / page; number++)
            found += pages[number] & 1 ? page : 0;
    }
    return found;
}

/// Whether a block is in the slot; NULL is not, unless `slot` is NULL too.
static inline bool is_inside(const void *block, const void *slot) {
    return (uintptr_t)block - (uintptr_t)slot < CLINUX_SLOT_SIZE;
}

/// The bytes of a block in a slot. The number before it is accessed here only, so that nothing else may touch it.
static size_t block_size(const void *block) {
    const struct head *head = (const struct head *)block - 1;
    ASAN_UNPOISON_MEMORY_REGION(head, sizeof *head);
    size_t size = head->size;
    ASAN_POISON_MEMORY_REGION(head, sizeof *head);
    return size;
}

static void *place(size_t size, void *slot) {
    if (!slot || size > CLINUX_SLOT_SIZE - 2 * sizeof(struct head))
        return malloc(size);
    // Zero before the first block: a slot without one is not touched.
    struct head *head = slot;
    size_t used = head->size ? head->size : sizeof *head;
    if (used > CLINUX_SLOT_SIZE - sizeof *head - size)
        return malloc(size);
    struct head *block = (struct head *)((char *)slot + used);
    ASAN_UNPOISON_MEMORY_REGION(block + 1, size);
    ASAN_UNPOISON_MEMORY_REGION(block, sizeof *block);
    block->size = size;
    ASAN_POISON_MEMORY_REGION(block, sizeof *block);
    size_t end = used + sizeof *block + size;
    end = (end + sizeof *block - 1) & -sizeof *block;
    head->size = end < CLINUX_SLOT_SIZE ? end : CLINUX_SLOT_SIZE;
    return block + 1;
}

void *clinux_slot_malloc(size_t size, void *slot) { return size < CLINUX_SLOT_LEAST ? malloc(size) : place(size, slot); }

void *clinux_slot_calloc(size_t count, size_t size, void *slot) {
    size_t bytes;
    if (__builtin_mul_overflow(count, size, &bytes) || bytes < CLINUX_SLOT_LEAST)
        return calloc(count, size);
    void *block = place(bytes, slot);
    // Pages of a slot are zero, unless the system would not take them back.
    if (block)
        memset(block, 0, bytes);
    return block;
}

void *clinux_slot_realloc(void *block, size_t size, void *slot) {
    if (!block)
        return clinux_slot_malloc(size, slot);
    if (!is_inside(block, slot))
        return realloc(block, size);
    size_t before = block_size(block);
    if (size <= before)
        return block;
    void *other = clinux_slot_malloc(size, slot);
    if (other) {
        memcpy(other, block, before);
        clinux_slot_free(block, slot);
    }
    return other;
}

void clinux_slot_free(void *block, void *slot) {
    if (!is_inside(block, slot)) {
        free(block);
        return;
    }
#ifdef CLINUX_IS_SANITIZED
    if (block)
        ASAN_POISON_MEMORY_REGION(block, block_size(block));
#endif
}
