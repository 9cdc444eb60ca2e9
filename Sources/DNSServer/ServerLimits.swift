import DNSWire
import Platform

/// The limits of the server, whatever clients do.
public struct ServerLimits: Sendable {
    /// Queries over UDP that wait for the loop.
    public var mailbox = 8_192
    /// Queries over UDP that the loop takes in one turn, and as many over connections: those under way proceed between turns,
    /// and neither kind takes more than half of the loop from the other.
    public var intake = 64
    /// How long queries may wait for the loop, while some are left over after each turn, without it being overloaded.
    public var target: Duration = .milliseconds(5)
    /// How long the loop may need for all that waits, counted from when queries were first left over, without being
    /// overloaded: half of `answer`, so that those taken last are answered in time.
    public var catchUp: Duration = .milliseconds(1_200)
    /// How long the loop's speed is measured before it counts as overloaded, and after which a query that waits for the
    /// resolver takes no room in an overloaded loop.
    public var interval: Duration = .milliseconds(100)
    /// How long the first query of a client network may have waited for an overloaded loop before further ones of the
    /// network are refused.
    public var patience: Duration = .milliseconds(100)
    /// Refused queries over UDP that are answered with SERVFAIL in a second; the rest are dropped. As many as take 4 %
    /// of a CPU, at some 4 us each.
    public var refusals = 10_000
    /// Queries that have waited for the resolver for less than `interval` before an overloaded loop takes another while
    /// requests wait for room at the sources: fewer than one address of a service carries at once (`HTTPLimits.requests`), so that what waits is
    /// sent before anything is taken.
    public var backlogged = 192
    /// Queries of this machine that wait for the resolver, from which on its programs are distinguished: fewer than any queue
    /// behind has places.
    public var crowd = 32
    /// Queries that wait for the resolver, over all clients and questions; fewer where memory is limited.
    public var pending = MemoryBudget.queries
    /// Open TCP connections, over all clients; fewer where few descriptors may be open.
    public var connections = 1_000
    /// Open encrypted connections, those in their handshake included; fewer where few descriptors may be open, or memory
    /// is limited. Phones hold theirs open.
    public var encryptedConnections = DescriptorBudget.encryptedConnections
    /// Queries of one TCP connection that wait for the resolver; at this number it is not read further until some are
    /// answered.
    public var pendingPerConnection = 128
    /// Bytes of responses that a TCP client has not received yet, above which its connection is not read further.
    public var queuedReplies = 256 << 10
    /// Bytes of unfinished queries and unsent responses that all connections hold together, shared by client network. A
    /// lower value also lowers `queuedReplies`.
    public var buffered = MemoryBudget.buffered {
        didSet { queuedReplies = max(Self.oneReply, min(queuedReplies, buffered / 64)) }
    }
    /// How long a client may take for its handshake.
    public var handshake: Duration = .seconds(5)
    /// How long a TCP connection may be idle, with no query outstanding, before it is closed.
    public var idle: Duration = .seconds(10)
    /// How long a connection must have been idle to give its place to a client network that has none.
    public var rest: Duration = .seconds(2)
    /// How long a client may go on sending after its last response, before its connection is closed.
    public var linger: Duration = .seconds(1)
    /// How long a TCP client may receive nothing of the responses queued for it before its connection is closed.
    public var stall: Duration = .seconds(10)
    /// When a query is answered with SERVFAIL although the resolver has not answered, counted from its arrival.
    ///
    /// The resolver's limit is 2.3 s; its own answer must come before this one, and both before the client's 2.5 s.
    public var answer: Duration = .milliseconds(2_400)
    /// How long a stop waits for outstanding queries and for responses to be sent.
    public var drain: Duration = .milliseconds(2_500)

    /// Length in bytes of the longest response, with its length field.
    private static let oneReply = 65_537

    public init() {}

    /// The idle time-out sent to TCP clients, in units of 100 ms (RFC 7828 section 3.1).
    var keepalive: UInt16 { UInt16(clamping: idle.nanoseconds / 100_000_000) }
}
