#pragma once

#include <netinet/in.h>
#include <stdint.h>

/// Accepts one connection, non-blocking and closed on exec. Returns its descriptor, or -errno.
int clinux_accept(int descriptor, struct sockaddr_in6 *peer, uint32_t *peer_length);
