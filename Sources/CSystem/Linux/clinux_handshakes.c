#define _GNU_SOURCE
#include "clinux_handshakes.h"

#include "clinux_slots.h"
#include "sanitizer.h"

#include <pthread.h>
#include <stdlib.h>
#include <string.h>

/// What OpenSSL 3 allocates for a message of a handshake (BUF_MEM_grow of SSL3_RT_MAX_PLAIN_LENGTH), and for each half of
/// BIO_f_buffer.
enum { MESSAGE = 21848, BUFFER = 4096, BLOCKS = 3 };

static struct clinux_slots *slots;
/// Slots whose pages stay for the next handshakes: giving them back and touching others costs a handshake some 8 % more.
static void *warm[CLINUX_HANDSHAKES_WARM];
static size_t warm_count;
static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;

bool clinux_handshakes_prepare(size_t most) {
#ifndef CLINUX_IS_SANITIZED
    if (!slots)
        slots = clinux_slots_new(most * BLOCKS);
#endif
    return slots;
}

static void *take(void) {
    pthread_mutex_lock(&lock);
    void *slot = warm_count ? warm[--warm_count] : clinux_slots_take(slots);
    pthread_mutex_unlock(&lock);
    return slot;
}

void *clinux_handshakes_malloc(size_t size, const char *file, int line) {
    (void)file, (void)line;
    void *slot = size == MESSAGE || size == BUFFER ? take() : NULL;
    return slot || size == 0 ? slot : malloc(size);
}

void *clinux_handshakes_realloc(void *block, size_t size, const char *file, int line) {
    if (!block)
        return clinux_handshakes_malloc(size, file, line);
    if (size == 0) {
        clinux_handshakes_free(block, file, line);
        return NULL;
    }
    if (!clinux_slots_have(slots, block))
        return realloc(block, size);
    if (size <= CLINUX_SLOT_SIZE)
        return block;
    void *other = malloc(size);
    if (other) {
        memcpy(other, block, CLINUX_SLOT_SIZE);
        clinux_handshakes_free(block, file, line);
    }
    return other;
}

void clinux_handshakes_free(void *block, const char *file, int line) {
    (void)file, (void)line;
    if (!clinux_slots_have(slots, block)) {
        free(block);
        return;
    }
    pthread_mutex_lock(&lock);
    if (warm_count < CLINUX_HANDSHAKES_WARM)
        warm[warm_count++] = block;
    else
        clinux_slots_return(slots, block);
    pthread_mutex_unlock(&lock);
}

size_t clinux_handshakes_resident(void) { return clinux_slots_resident(slots); }
