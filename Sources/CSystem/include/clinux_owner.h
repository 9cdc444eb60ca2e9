#pragma once

// Whose a socket of this machine is, from the kernel (sock_diag(7)).

#include <stdint.h>

/// A new non-blocking socket for `clinux_udp_owner`, closed on exec. Returns it, or -errno.
int clinux_diag_socket(void);

/// Asks the kernel whose a UDP socket is, the one at `client` that sends to `server`: the user, and the number of the control
/// group, 0 from kernels before 5.7.
///
/// `family` is AF_INET or AF_INET6; the addresses have its 4 or 16 bytes, the ports are numbers. For one thread at a time.
/// Returns 0, or -errno: -ENOENT where there is no such socket (any more).
int clinux_udp_owner(
    int descriptor, int family, const void *client, uint16_t client_port, const void *server, uint16_t server_port,
    uint32_t *user, uint64_t *group);
