#define _GNU_SOURCE
#include "clinux_events.h"

#include <errno.h>
#include <signal.h>
#include <sys/epoll.h>
#include <sys/eventfd.h>
#include <sys/signalfd.h>
#include <sys/timerfd.h>
#include <time.h>
#include <unistd.h>

_Static_assert(EPOLLIN == 0x001 && EPOLLOUT == 0x004 && EPOLLERR == 0x008 && EPOLLHUP == 0x010, "event bits");
_Static_assert((uint32_t)EPOLLET == 0x80000000, "edge bit");
_Static_assert(EPOLL_CTL_ADD == 1 && EPOLL_CTL_DEL == 2 && EPOLL_CTL_MOD == 3, "operations");

static int result(int value) { return value < 0 ? -errno : value; }

int clinux_epoll_create(void) { return result(epoll_create1(EPOLL_CLOEXEC)); }

int clinux_epoll_control(int epoll, int operation, int descriptor, uint32_t events, uint64_t key) {
    struct epoll_event event = {.events = events, .data.u64 = key};
    return result(epoll_ctl(epoll, operation, descriptor, &event));
}

int clinux_epoll_wait(int epoll, struct clinux_ready *ready, int timeout_milliseconds) {
    struct epoll_event events[CLINUX_READY_MAX];
    int count = epoll_wait(epoll, events, CLINUX_READY_MAX, timeout_milliseconds);
    if (count < 0)
        return -errno;
    for (int index = 0; index < count; index++) {
        ready[index].key = events[index].data.u64;
        ready[index].events = events[index].events;
    }
    return count;
}

int clinux_eventfd_create(void) { return result(eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK)); }

int clinux_eventfd_post(int descriptor) {
    int before = errno;
    uint64_t one = 1;
    int outcome = write(descriptor, &one, sizeof one) < 0 ? -errno : 0;
    errno = before;
    return outcome;
}

int clinux_timerfd_create(void) { return result(timerfd_create(CLOCK_BOOTTIME, TFD_CLOEXEC | TFD_NONBLOCK)); }

int clinux_timerfd_arm(int descriptor, int64_t nanoseconds) {
    struct itimerspec when = {0};
    if (nanoseconds > 0) {
        when.it_value.tv_sec = (time_t)(nanoseconds / 1000000000);
        when.it_value.tv_nsec = (long)(nanoseconds % 1000000000);
    }
    return result(timerfd_settime(descriptor, TFD_TIMER_ABSTIME, &when, NULL));
}

int clinux_signalfd_create(const int32_t *signals, int count) {
    sigset_t set;
    sigemptyset(&set);
    for (int index = 0; index < count; index++)
        sigaddset(&set, signals[index]);
    return result(signalfd(-1, &set, SFD_CLOEXEC | SFD_NONBLOCK));
}

int clinux_signalfd_take(int descriptor) {
    struct signalfd_siginfo info;
    if (read(descriptor, &info, sizeof info) == sizeof info)
        return (int)info.ssi_signo;
    return errno == EAGAIN || errno == EINTR ? 0 : -errno;
}
