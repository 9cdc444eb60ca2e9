import Platform
import Scheduling

/// What the server never goes beyond, whatever clients do.
package struct ServerLimits: Sendable {
    /// Queries on their way from the UDP threads to the loop.
    package var mailbox = 8_192
    /// Queries that the loop takes from the UDP threads in one turn, so that what is under way goes on between them.
    package var intake = 64
    /// How many queries may be on their way to a loop that has more to do than it can, and how many wait for the resolver
    /// before it takes another, at least: what it finishes in the interval `saturation` when that is more. So what is taken
    /// on is answered before the resolver thinks its sources slow (0.3 s), and the sources are kept busy.
    package var saturated = 512
    /// How many wait for the resolver before such a loop takes another while requests wait for room at the sources: half as
    /// many again as an address of a service carries at once (`HTTPLimits.requests`), so that there is always a next one.
    package var backlogged = 384
    /// How many queries must be refused in the interval `saturation` before some of their clients are told nothing: so many
    /// that telling them all takes a tenth of a CPU, at some 4 us each.
    package var flood = 2_000
    /// For how long less is taken on, once the loop had more to do than it could, before that is judged anew.
    package var saturation: Duration = .milliseconds(100)
    /// Queries that wait for the resolver, over all clients and whatever they ask; fewer where memory is limited.
    package var pending = MemoryBudget.queries
    /// Open TCP connections, over all clients; fewer where few descriptors may be open.
    package var connections = 1_000
    /// Queries of one TCP connection that wait for the resolver; until some are answered it is not read further. Fewer while
    /// the loop has more to do than it can: then all connections share what `saturated` allows.
    package var pendingPerConnection = 128
    /// Bytes of replies that a TCP client has not taken yet, past which its connection is not read further.
    package var queuedReplies = 256 << 10
    /// Bytes of unfinished queries and replies not yet taken that all TCP connections hold together; the connection
    /// that goes beyond is closed. With fewer, each may have fewer replies queued.
    package var buffered = MemoryBudget.buffered {
        didSet { queuedReplies = max(Self.oneReply, min(queuedReplies, buffered / 64)) }
    }
    /// How long a TCP connection may be quiet, with no query outstanding, before it is closed.
    package var idle: Duration = .seconds(10)
    /// How long a TCP client may take nothing of the replies queued for it before its connection is closed.
    package var stall: Duration = .seconds(10)
    /// When a client is told SERVFAIL though the resolver has said nothing, counted from the query's arrival.
    ///
    /// The resolver promises 2.3 s; its own last word must win against this, and both beat the client's 2.5 s.
    package var answer: Duration = .milliseconds(2_400)
    /// How long a stop waits for outstanding queries and for replies to be taken.
    package var drain: Duration = .milliseconds(2_500)

    /// Bytes of the longest reply, with its length before it.
    private static let oneReply = 65_537

    package init() {}

    /// The idle time-out as TCP clients are told it, in units of 100 ms (RFC 7828 section 3.1).
    var keepalive: UInt16 { UInt16(clamping: idle.nanoseconds / 100_000_000) }
}
