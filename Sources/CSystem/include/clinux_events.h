#pragma once

// epoll, and the descriptors for wake-ups, timers and signals.

#include <stdint.h>

/// Bits of an epoll event, as in <sys/epoll.h>.
static const uint32_t CLINUX_READABLE = 0x001;
static const uint32_t CLINUX_WRITABLE = 0x004;
static const uint32_t CLINUX_FAILED = 0x008;
static const uint32_t CLINUX_HUNG_UP = 0x010;
static const uint32_t CLINUX_EDGE = 0x80000000;

/// Operations of clinux_epoll_control.
static const int32_t CLINUX_ADD = 1;
static const int32_t CLINUX_REMOVE = 2;
static const int32_t CLINUX_CHANGE = 3;

/// The most events that one clinux_epoll_wait returns.
#define CLINUX_READY_MAX 128

/// One ready descriptor: the key with which it was added, and its event bits.
struct clinux_ready {
    uint64_t key;
    uint32_t events;
};

/// A new epoll descriptor, closed on exec.
int clinux_epoll_create(void);

/// Adds, removes or changes one descriptor of an epoll set. Returns 0 or -errno.
int clinux_epoll_control(int epoll, int operation, int descriptor, uint32_t events, uint64_t key);

/// Waits for events: without limit with a time-out of -1, not at all with 0. `ready` has room for CLINUX_READY_MAX.
/// Returns how many were written, or -errno.
int clinux_epoll_wait(int epoll, struct clinux_ready *ready, int timeout_milliseconds);

/// A new non-blocking event counter, closed on exec.
int clinux_eventfd_create(void);

/// Increments an event counter. Safe in a signal handler. Returns 0 or -errno.
int clinux_eventfd_post(int descriptor);

/// A new non-blocking timer descriptor on CLOCK_BOOTTIME, closed on exec.
int clinux_timerfd_create(void);

/// Arms a timer for a point in time of CLOCK_BOOTTIME; zero or less disarms it. Returns 0 or -errno.
int clinux_timerfd_arm(int descriptor, int64_t nanoseconds);

/// A new non-blocking descriptor that delivers the `count` signals listed, closed on exec.
/// They must be blocked in every thread.
int clinux_signalfd_create(const int32_t *signals, int count);

/// Reads one signal from it. Returns its number, 0 when none is pending, or -errno.
int clinux_signalfd_take(int descriptor);
