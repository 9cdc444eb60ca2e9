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
    /// Bytes of unfinished queries and unsent responses that it holds, as it has booked them.
    var held: Int { get }

    /// Begins to read. Returns false when the event loop accepts no more descriptors; the connection is closed then.
    func start() -> Bool

    /// Reads no more; closes when the last response was received, which may be at once.
    func finish()

    /// Closes at once, even with queries outstanding. A second call does nothing.
    func close()
}
