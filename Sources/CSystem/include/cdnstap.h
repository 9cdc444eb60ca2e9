#pragma once

// dnstap (https://dnstap.info): DNS messages with their circumstances, sent to a collector as Frame Streams. libfstrm has the
// framing, a queue for each producer and the thread that sends; protobuf-c makes the frames.

#include <stddef.h>
#include <stdint.h>
#include <sys/socket.h>

struct cdnstap;

/// A DNS message.
struct cdnstap_message {
    const uint8_t *bytes;
    size_t length;
    /// The client's address in host byte order, and its port; an IPv4 address is in the lower half.
    uint64_t address_high;
    uint64_t address_low;
    uint16_t port;
    uint8_t is_ipv6;
    /// A value of dnstap's SocketProtocol: 1 UDP, 2 TCP, 3 DNS over TLS, 4 DNS over HTTPS.
    uint8_t protocol;
    uint8_t is_response;
    /// When the query came, and for a response when that was sent: nanoseconds since 1970.
    uint64_t queried;
    uint64_t responded;
};

/// Connects to a collector in the background, again and again if need be, ever less often down to each 30 s, until
/// cdnstap_stop.
///
/// It is a Unix socket at `path`, at most 107 bytes, or NULL and an IP address. `identity` and `version` are in every frame.
/// Each of the `producers` must be used by one thread at a time. NULL when there is no memory or descriptor.
struct cdnstap *cdnstap_open(const char *path, const struct sockaddr *address, socklen_t address_length,
                             const char *identity, const char *version, unsigned producers);

/// Queues a message; never waits. It is dropped and counted when there is no collector or no room, and after cdnstap_stop,
/// during which it may not be called.
void cdnstap_add(struct cdnstap *tap, unsigned producer, const struct cdnstap_message *message);

/// 1 when the collector is connected, 0 before that is known, else -errno.
int cdnstap_state(const struct cdnstap *tap);

/// Messages that were sent, and that were dropped, since the start.
uint64_t cdnstap_sent(const struct cdnstap *tap);
uint64_t cdnstap_dropped(const struct cdnstap *tap);

/// Ends the connection, after sending what is queued as far as the collector takes it within a moment. Harmless the second
/// time.
void cdnstap_stop(struct cdnstap *tap);

/// Does so, and frees everything.
void cdnstap_free(struct cdnstap *tap);
