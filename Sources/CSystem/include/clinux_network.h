#pragma once

// Descriptors that report changes around the process: rtnetlink, inotify, and the clock set at a resume.

#include <stddef.h>
#include <stdint.h>

/// A new non-blocking rtnetlink socket, closed on exec, that receives changes of links, addresses and routes of IPv4
/// and IPv6.
int clinux_route_socket(void);

/// Requests a dump of all the kernel's objects of a kind: RTM_GETLINK or RTM_GETADDR. One at a time. Returns 0 or
/// -errno.
int clinux_route_dump(int descriptor, uint16_t type);

/// Receives one datagram of whole messages. Returns its length, 0 for one that did not come from the kernel, or -errno:
/// -EAGAIN when there is none, -ENOBUFS when some were lost because the socket or `buffer` had no room.
int clinux_route_receive(int descriptor, void *buffer, size_t size);

/// Asks the kernel for the route to an address: its interface, and the address that packets are sent from.
///
/// `family` is AF_INET or AF_INET6, `address` and `source` have its 4 or 16 bytes; `source` is left as it is where the
/// kernel reports none. Returns the interface's index, or -errno: -ENETUNREACH and the like when there is no route,
/// -ENODEV when the route has no interface.
int clinux_route_lookup(int family, const void *address, void *source);

/// A new non-blocking inotify descriptor, closed on exec.
int clinux_inotify_create(void);

/// Watches a directory for names that are added, removed or replaced. Returns the number of the watch, or -errno.
int clinux_inotify_watch_directory(int descriptor, const char *path);

/// Watches a file for writes, by any path, and for its removal. Returns the number of the watch, or -errno.
int clinux_inotify_watch_file(int descriptor, const char *path);

/// Removes a watch; the kernel may have removed it already.
void clinux_inotify_remove(int descriptor, int watch);

/// A new non-blocking timer that never expires and becomes readable when the wall clock jumps, as it does at a resume.
int clinux_clock_jump_create(void);

/// Rearms it for the next jump. Returns 0 or -errno.
int clinux_clock_jump_rearm(int descriptor);
