#define _GNU_SOURCE
#include "collector.h"

#include <errno.h>
#include <poll.h>
#include <sys/prctl.h>
#include <sys/uio.h>
#include <time.h>
#include <unistd.h>

/// How long the collector may take to say or take something.
static const int patience = 10000;
/// The same in all, once the end has come.
static const int last_patience = 250;
/// The pauses between two attempts to connect; libfstrm makes each up to two seconds longer.
static const int first_pause = 1000;
static const int longest_pause = 28000;

static int64_t milliseconds(void) {
    struct timespec now;
    clock_gettime(CLOCK_MONOTONIC, &now);
    return (int64_t)now.tv_sec * 1000 + now.tv_nsec / 1000000;
}

static fstrm_res close_socket(void *object) {
    struct collector *collector = object;
    if (collector->socket >= 0)
        close(collector->socket);
    collector->socket = -1;
    int connected = 1;
    atomic_compare_exchange_strong(&collector->state, &connected, 0);
    return fstrm_res_success;
}

/// Also closes the socket, so that the collector learns of it before the next attempt: libfstrm leaves it open when a handshake
/// fails.
static fstrm_res fail(struct collector *collector, int code) {
    if (collector->socket >= 0)
        close(collector->socket);
    collector->socket = -1;
    atomic_store(&collector->state, code ? -code : -ECONNRESET);
    return fstrm_res_failure;
}

/// Waits for an event of the socket. Returns whether it has come in time.
static int wait_for(struct collector *collector, short event) {
    for (;;) {
        struct pollfd entries[] = {
            {.fd = collector->socket, .events = event},
            {.fd = collector->deadline ? -1 : collector->stop, .events = POLLIN},
        };
        int64_t limit = patience;
        if (collector->deadline)
            limit = collector->deadline - milliseconds();
        int count = poll(entries, 2, limit > 0 ? (int)limit : 0);
        if (count < 0 && errno == EINTR)
            continue;
        if (entries[0].revents || count <= 0)
            return count > 0;
        collector->deadline = milliseconds() + last_patience;
    }
}

/// Waits for `pause`. Returns whether the end has not come meanwhile.
static int wait_to_connect(struct collector *collector) {
    struct pollfd entry = {.fd = collector->stop, .events = POLLIN};
    int64_t end = milliseconds() + collector->pause;
    int count;
    do {
        int64_t left = end - milliseconds();
        count = poll(&entry, 1, left > 0 ? (int)left : 0);
    } while (count < 0 && errno == EINTR);
    return count == 0;
}

static fstrm_res open_socket(void *object) {
    struct collector *collector = object;
    prctl(PR_SET_NAME, "dnstap");
    // libfstrm has refused what the collector said to the last one.
    if (collector->socket >= 0)
        fail(collector, EPROTO);
    if (collector->pause > 0 && !wait_to_connect(collector))
        return fstrm_res_failure;
    int next = collector->pause > 0 ? collector->pause * 2 : first_pause;
    collector->pause = next < longest_pause ? next : longest_pause;
    collector->control_frames = 0;
    collector->socket =
        socket(collector->address.ss_family, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
    if (collector->socket < 0)
        return fail(collector, errno);
    if (connect(collector->socket, (struct sockaddr *)&collector->address, collector->address_length) == 0)
        return fstrm_res_success;
    int code = errno;
    if (code == EINPROGRESS) {
        code = ETIMEDOUT;
        socklen_t length = sizeof code;
        if (wait_for(collector, POLLOUT) && getsockopt(collector->socket, SOL_SOCKET, SO_ERROR, &code, &length) == 0 &&
            code == 0)
            return fstrm_res_success;
    }
    return fail(collector, code);
}

static fstrm_res read_socket(void *object, void *data, size_t count) {
    struct collector *collector = object;
    uint8_t *next = data;
    while (count > 0) {
        ssize_t got = recv(collector->socket, next, count, 0);
        if (got == 0)
            return fail(collector, ECONNRESET);
        if (got > 0) {
            next += got;
            count -= (size_t)got;
        } else if (errno == EAGAIN) {
            if (!wait_for(collector, POLLIN))
                return fail(collector, ETIMEDOUT);
        } else if (errno != EINTR) {
            return fail(collector, errno);
        }
    }
    return fstrm_res_success;
}

/// libfstrm's array is its own and not read again, so that what is sent may be taken off it.
static fstrm_res send_all(struct collector *collector, struct iovec *parts, size_t count) {
    while (count > 0) {
        struct msghdr message = {.msg_iov = parts, .msg_iovlen = count};
        ssize_t sent = sendmsg(collector->socket, &message, MSG_NOSIGNAL);
        if (sent < 0 && errno == EAGAIN) {
            if (!wait_for(collector, POLLOUT))
                return fail(collector, ETIMEDOUT);
        } else if (sent < 0 && errno != EINTR) {
            return fail(collector, errno);
        }
        for (size_t rest = sent > 0 ? (size_t)sent : 0; count > 0 && rest > 0;) {
            size_t taken = rest < parts->iov_len ? rest : parts->iov_len;
            parts->iov_base = (uint8_t *)parts->iov_base + taken;
            parts->iov_len -= taken;
            rest -= taken;
            if (parts->iov_len == 0) {
                parts++;
                count--;
            }
        }
    }
    return fstrm_res_success;
}

static fstrm_res write_socket(void *object, const struct iovec *parts, int count) {
    struct collector *collector = object;
    // A control frame is one part; a data frame is two, its length and itself.
    int is_control = count == 1;
    fstrm_res result = send_all(collector, (struct iovec *)parts, (size_t)count);
    if (result != fstrm_res_success)
        return result;
    if (!is_control)
        collector->delivered += (unsigned)count / 2;
    else if (++collector->control_frames == 2) {
        collector->pause = 0;
        atomic_store(&collector->state, 1);
    }
    return fstrm_res_success;
}

struct fstrm_rdwr *collector_functions(struct collector *collector) {
    struct fstrm_rdwr *functions = fstrm_rdwr_init(collector);
    if (!functions)
        return NULL;
    fstrm_rdwr_set_open(functions, open_socket);
    fstrm_rdwr_set_close(functions, close_socket);
    fstrm_rdwr_set_read(functions, read_socket);
    fstrm_rdwr_set_write(functions, write_socket);
    return functions;
}
