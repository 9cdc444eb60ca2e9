#pragma once

#include <netinet/in.h>
#include <stdint.h>

/// Accepts one connection, non-blocking and closed on exec. Returns its descriptor, or -errno.
int clinux_accept(int descriptor, struct sockaddr_in6 *peer, uint32_t *peer_length);

/// Sets the time without an acknowledgement after which the kernel ends the connection (RFC 5482). Returns 0 or -errno.
int clinux_set_user_timeout(int descriptor, unsigned int milliseconds);
