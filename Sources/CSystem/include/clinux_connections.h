#pragma once

#include <netinet/in.h>
#include <stddef.h>
#include <stdint.h>

/// Accepts one connection, non-blocking and closed on exec. Returns its descriptor, or -errno.
int clinux_accept(int descriptor, struct sockaddr_in6 *peer, uint32_t *peer_length);

/// Sets the time without an acknowledgement after which the kernel ends the connection (RFC 5482). Returns 0 or -errno.
int clinux_set_user_timeout(int descriptor, unsigned int milliseconds);

/// Sends what the socket takes, without waiting and without a signal. Returns how many bytes, 0 when it takes none now, or
/// -errno.
long clinux_send(int descriptor, const void *bytes, size_t count);
