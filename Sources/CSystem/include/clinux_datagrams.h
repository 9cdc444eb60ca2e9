#pragma once

// Datagrams in batches, each response from the address to which the query was sent.

#include <netinet/in.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/socket.h>

/// The source of a datagram, and which of our addresses it was sent to: all that a response needs. 56 bytes, a plain
/// value.
struct clinux_origin {
    /// The sender; a `sockaddr_in` in the same memory when its family says so.
    struct sockaddr_in6 peer;
    /// The destination address, 4 or 16 bytes by the peer's family; undefined without `has_local`.
    uint8_t local[16];
    /// The interface, only where the address needs one (IPv6 link-local); else 0, and routing decides.
    uint32_t interface;
    uint32_t peer_length;
    /// 1 when the socket reports local addresses (a wildcard one) and responses may be sent from this one.
    uint8_t has_local;
};

/// One datagram of a batch, valid from one receive to the next.
struct clinux_slot {
    /// The datagram; the slot has room for `in_size` bytes.
    uint8_t *in;
    /// Room for the response, `out_size` bytes.
    uint8_t *out;
    uint32_t in_length;
    /// Length in bytes of the response in `out`, at most `out_size`; 0 for none, as after each receive. Set by the
    /// caller.
    uint32_t out_length;
    /// 1 when the kernel truncated the datagram to `in_size`.
    uint8_t is_truncated;
    uint32_t peer_length;
    /// The sender; a `sockaddr_in` in the same memory when its family says so.
    struct sockaddr_in6 peer;
};

/// The sender of a slot's datagram, `peer_length` bytes long.
static inline const struct sockaddr *clinux_slot_peer(const struct clinux_slot *slot) {
    return (const struct sockaddr *)&slot->peer;
}

/// The sender's IPv4 address in host byte order, if it is an IPv4 one.
static inline uint32_t clinux_slot_ipv4(const struct clinux_slot *slot) {
    return ntohl(((const struct sockaddr_in *)&slot->peer)->sin_addr.s_addr);
}

/// Buffers for many datagrams and their responses, allocated once; used by one thread.
struct clinux_batch;

/// A batch of `slots` (1 to 1,024) datagrams; NULL when there is no memory or the number is out of range.
struct clinux_batch *clinux_batch_new(int slots, size_t in_size, size_t out_size);

void clinux_batch_free(struct clinux_batch *batch);

/// The slots; the same array as long as the batch exists.
struct clinux_slot *clinux_batch_slots(struct clinux_batch *batch);

/// Fills slots from 0 on with one system call.
///
/// With `wait` it blocks until the first datagram when the descriptor is a blocking one; it never waits for a second.
/// Returns how many arrived, or -errno: -EAGAIN when there are none, -EINTR.
int clinux_batch_receive(struct clinux_batch *batch, int descriptor, int wait);

/// Sends each slot's response, if it has one, by the first of `count` sockets whose send buffer has room, without blocking
/// except for at most 5 ms in all when the last one has none.
///
/// A datagram that cannot be sent is skipped, and does not delay the others. Returns how many were sent.
int clinux_batch_send(struct clinux_batch *batch, const int *descriptors, int count);

/// Copies what a late response to the slot's datagram needs.
void clinux_batch_origin(struct clinux_batch *batch, int slot, struct clinux_origin *origin);

/// The most responses that one clinux_send_late takes.
#define CLINUX_LATE_MAX 64

/// A response made after its batch was reused: its position in the shared bytes, and its destination.
struct clinux_late_reply {
    uint32_t offset;
    uint32_t length;
    struct clinux_origin origin;
};

/// Sends `count` late responses, at most CLINUX_LATE_MAX, by the first socket whose send buffer has room: with one system
/// call unless some fail; never blocks. May be called from any thread.
///
/// One that cannot be sent is skipped. Returns how many were sent.
int clinux_send_late(const int *descriptors, int descriptor_count, const uint8_t *bytes,
                     const struct clinux_late_reply *replies, int count);

/// Makes the kernel deliver the datagrams of an address to its SO_REUSEPORT sockets except the `senders` bound first,
/// which then only send.
///
/// Which of the `receivers` others, 1 to 65,535 less those, depends on the client's address and port. `family` is that of
/// the sockets, AF_INET or AF_INET6. Called on one of them when all are bound. Returns 0, or -errno.
int clinux_spread_datagrams(int descriptor, int family, int senders, int receivers);
