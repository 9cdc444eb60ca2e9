#pragma once

// The connection to a collector, as libfstrm reads and writes it: on its thread alone, but for what is atomic. No call waits
// longer than a limit, and none much longer than until `stop`.

#include <fstrm.h>
#include <stdatomic.h>
#include <stdint.h>
#include <sys/socket.h>

struct collector {
    struct sockaddr_storage address;
    socklen_t address_length;
    /// -1 while there is no connection.
    int socket;
    /// An eventfd, readable once the end has come.
    int stop;
    /// When waiting ends after that, in milliseconds of CLOCK_MONOTONIC; 0 before.
    int64_t deadline;
    /// How long to wait before the next attempt to connect, in milliseconds: twice as long after each that fails.
    int pause;
    /// Control frames written on this connection: with the second, START, data may follow.
    int control_frames;
    /// Data frames that were sent and are yet to be freed.
    unsigned delivered;
    /// 1 when it is connected, 0 before that is known, else -errno.
    atomic_int state;
};

/// Makes the connection's functions known to libfstrm; NULL when there is no memory.
struct fstrm_rdwr *collector_functions(struct collector *collector);
