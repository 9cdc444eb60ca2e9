#define _GNU_SOURCE
#include "clinux_connections.h"

#include <errno.h>
#include <netinet/tcp.h>
#include <sys/socket.h>

int clinux_accept(int descriptor, struct sockaddr_in6 *peer, uint32_t *peer_length) {
    socklen_t length = sizeof *peer;
    int connection = accept4(descriptor, (struct sockaddr *)peer, &length, SOCK_CLOEXEC | SOCK_NONBLOCK);
    *peer_length = length;
    return connection < 0 ? -errno : connection;
}

// The beginning of Linux's struct tcp_info (linux/tcp.h); glibc's ends before what is wanted here.
struct tcp_info_start {
    uint8_t states[8];
    uint32_t counters[24];
    uint64_t pacing_rate;
    uint64_t max_pacing_rate;
    uint64_t bytes_acked;
    uint64_t bytes_received;
};

int64_t clinux_bytes_received(int descriptor) {
    struct tcp_info_start info;
    socklen_t length = sizeof info;
    if (getsockopt(descriptor, IPPROTO_TCP, TCP_INFO, &info, &length) != 0 || length < sizeof info)
        return -1;
    return (int64_t)info.bytes_received;
}

int clinux_set_user_timeout(int descriptor, unsigned int milliseconds) {
    return setsockopt(descriptor, IPPROTO_TCP, TCP_USER_TIMEOUT, &milliseconds, sizeof milliseconds) ? -errno : 0;
}
