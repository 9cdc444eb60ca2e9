import Platform
import Scheduling

/// The limits of the server, whatever clients do.
package struct ServerLimits: Sendable {
    /// Queries on their way from the UDP threads to the loop.
    package var mailbox = 8_192
    /// Queries that the loop takes from the UDP threads in one turn, so that those under way proceed between turns.
    package var intake = 64
    /// The least bound on the queries that are on their way to a saturated loop, and on those that wait for the
    /// resolver before it takes another; the bound is the number it finishes in the interval `saturation` when that is
    /// more. So the queries taken are answered before the resolver counts its sources as slow (0.3 s), and the sources
    /// always have work.
    package var saturated = 512
    /// Queries that wait for the resolver before a saturated loop takes another while requests wait for room at the
    /// sources: half as many again as one address of a service carries at once (`HTTPLimits.requests`), so that the
    /// next is always there.
    package var backlogged = 384
    /// Queries refused in the interval `saturation` above which some get no response: as many as take a tenth of a CPU
    /// to refuse, at some 4 us each.
    package var flood = 2_000
    /// The interval for which a saturated loop takes fewer queries, before saturation is measured again.
    package var saturation: Duration = .milliseconds(100)
    /// Queries that wait for the resolver, over all clients and questions; fewer where memory is limited.
    package var pending = MemoryBudget.queries
    /// Open TCP connections, over all clients; fewer where few descriptors may be open.
    package var connections = 1_000
    /// Queries of one TCP connection that wait for the resolver; at this number it is not read further until some are
    /// answered. Fewer while the loop is saturated: then all connections share what `saturated` allows.
    package var pendingPerConnection = 128
    /// Bytes of responses that a TCP client has not received yet, above which its connection is not read further.
    package var queuedReplies = 256 << 10
    /// Bytes of unfinished queries and unsent responses that all TCP connections hold together; the connection that
    /// exceeds it is closed. A lower value also lowers `queuedReplies`.
    package var buffered = MemoryBudget.buffered {
        didSet { queuedReplies = max(Self.oneReply, min(queuedReplies, buffered / 64)) }
    }
    /// How long a TCP connection may be idle, with no query outstanding, before it is closed.
    package var idle: Duration = .seconds(10)
    /// How long a TCP client may receive nothing of the responses queued for it before its connection is closed.
    package var stall: Duration = .seconds(10)
    /// When a query is answered with SERVFAIL although the resolver has not answered, counted from its arrival.
    ///
    /// The resolver's limit is 2.3 s; its own answer must come before this one, and both before the client's 2.5 s.
    package var answer: Duration = .milliseconds(2_400)
    /// How long a stop waits for outstanding queries and for responses to be sent.
    package var drain: Duration = .milliseconds(2_500)

    /// Length in bytes of the longest response, with its length field.
    private static let oneReply = 65_537

    package init() {}

    /// The idle time-out sent to TCP clients, in units of 100 ms (RFC 7828 section 3.1).
    var keepalive: UInt16 { UInt16(clamping: idle.nanoseconds / 100_000_000) }
}
