#pragma once

// Memory for objects of which a large part is rarely touched, such as a buffer for the longest message: only the pages
// that are touched cost anything, and all of them go back to the system with the object.
//
// A slot is for the large blocks of one object, which is all that its four functions of allocation serve from there; small
// blocks, and those for which a slot has no room left, are malloc's. The functions have the form of `nghttp2_mem`.

#include <stdbool.h>
#include <stddef.h>

/// Bytes of a slot: six pages. The large blocks of a session of nghttp2 1.52 are 2,928, 4,096 and 16,394 bytes.
#define CLINUX_SLOT_SIZE (24 << 10)

/// The least number of bytes of a block in a slot.
#define CLINUX_SLOT_LEAST 2048

/// Slots, for one thread at a time.
struct clinux_slots;

/// Reserves the addresses of `most` slots, which take no memory. Returns NULL without memory, or without addresses.
struct clinux_slots *clinux_slots_new(size_t most);

/// Gives all memory back. No slot is in use.
void clinux_slots_delete(struct clinux_slots *slots);

/// An unused slot; its pages are zero, and take no memory before they are touched. Returns NULL without memory, and when all
/// are in use.
void *clinux_slots_take(struct clinux_slots *slots);

/// Takes back a slot and gives its pages to the system. Nothing uses its blocks any more. NULL does nothing.
void clinux_slots_return(struct clinux_slots *slots, void *slot);

/// Whether it is in one of the slots.
bool clinux_slots_have(const struct clinux_slots *slots, const void *block);

/// The bytes of all slots that take memory now, for tests.
size_t clinux_slots_resident(const struct clinux_slots *slots);

/// As malloc; `slot` may be NULL, then all is malloc's.
void *clinux_slot_malloc(size_t size, void *slot);

/// As calloc.
void *clinux_slot_calloc(size_t count, size_t size, void *slot);

/// As realloc, for a block of this slot or of malloc's.
void *clinux_slot_realloc(void *block, size_t size, void *slot);

/// As free, for a block of this slot or of malloc's. The room of a block in the slot is not used again before the slot is.
void clinux_slot_free(void *block, void *slot);
