#pragma once

// Memory for handshakes of TLS that are not done, in which any client may leave the server.
//
// OpenSSL holds three blocks of fixed size until a handshake is done: 21,848 bytes for a message, of which it touches 16 KiB,
// and twice 4,096 for what is sent together, of which a server uses one. Each has a slot here (clinux_slots.h), so that only
// pages that are touched cost anything; all else, and all under the address sanitizer, is malloc's.

#include <stdbool.h>
#include <stddef.h>

/// The most blocks whose pages stay when nothing uses them: those of 16 handshakes.
#define CLINUX_HANDSHAKES_WARM 48

/// Reserves the addresses for `most` handshakes at once; further ones have malloc's memory. Once, before the functions
/// below are used. Returns false without addresses, which changes nothing else.
bool clinux_handshakes_prepare(size_t most);

/// As malloc, realloc and free, from any thread. They have the form of CRYPTO_set_mem_functions(3): no bytes are NULL.
void *clinux_handshakes_malloc(size_t size, const char *file, int line);
void *clinux_handshakes_realloc(void *block, size_t size, const char *file, int line);
void clinux_handshakes_free(void *block, const char *file, int line);

/// The bytes of all such blocks that take memory now, for tests.
size_t clinux_handshakes_resident(void);
