import DNSResolver
import Platform
import Scheduling

/// The client of a connection, as the rules about clients see it.
struct ConnectionClient: Sendable {
    /// Behind a proxy the one that the proxy reports.
    let address: SocketAddress
    let transport: Transport
    /// Whether it is answered whatever `listen.allow` says: it has presented a certificate of `listen.client_ca`, or a
    /// token.
    var isTrusted = false
}

/// An open connection in the table of all: from its handshake, if it has one, to its end.
@Loop
protocol ServedConnection: AnyObject, Sendable {
    var client: ConnectionClient { get }
    /// Its place among all connections; nil before it is admitted and after it has closed.
    var ticket: FairShare.Ticket? { get set }
    /// Whether closing it loses nothing: no query is outstanding, and no response unsent.
    var isIdle: Bool { get }
    /// When its last query arrived or its last response became ready; before the first, when it began.
    var lastActivity: Instant { get }

    /// Begins to read. Returns false when the event loop accepts no more descriptors; the connection is closed then.
    func start() -> Bool

    /// Reads no more; closes when the last response was received, which may be at once.
    func finish()

    /// Closes at once, even with queries outstanding. A second call does nothing.
    func close()
}

/// What connections share, and what they report.
@Loop
protocol ConnectionOwner: AnyObject, Sendable {
    var loop: EventLoop { get }
    var limits: ServerLimits { get }

    /// Reads from a connection; the slice has the bytes read.
    func read(_ stream: any ByteStream) -> (StreamOutcome, ArraySlice<UInt8>)

    /// Adds a change in the bytes buffered by one connection. Returns whether all connections together are within the
    /// limit.
    func book(_ change: Int) -> Bool

    /// Notes that a query arrived by the connection, or that a response to one is ready.
    func used(_ connection: any ServedConnection)

    /// Puts a connection in the place of one whose handshake is done, and starts it.
    func replace(_ connection: any ServedConnection, by next: any ServedConnection)

    /// Notes that the client of a connection is another one: its proxy has reported it.
    func identified(_ connection: any ServedConnection)

    /// Removes a connection that has closed.
    func remove(_ connection: any ServedConnection)
}
