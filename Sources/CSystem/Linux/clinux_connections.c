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

int clinux_set_user_timeout(int descriptor, unsigned int milliseconds) {
    return setsockopt(descriptor, IPPROTO_TCP, TCP_USER_TIMEOUT, &milliseconds, sizeof milliseconds) ? -errno : 0;
}

long clinux_send(int descriptor, const void *bytes, size_t count) {
    ssize_t sent;
    do {
        sent = send(descriptor, bytes, count, MSG_NOSIGNAL | MSG_DONTWAIT);
    } while (sent < 0 && errno == EINTR);
    if (sent >= 0) return sent;
    return errno == EAGAIN || errno == ENOBUFS ? 0 : -errno;
}
