import DNSWire
import Platform
import Scheduling

/// Tells the programs of this machine apart, which all ask from one address: by the owners of their sockets.
///
/// The kernel is asked only while a choice among them may come: when many of their queries wait, or their misses near the
/// brake. A query that is answered from the cache never comes here. What the kernel said of a socket counts for a moment
/// while a query of that socket waits, and no longer: a program may have closed it, and its port be another's by then.
@Loop
final class LocalClients {
    /// How many of their queries wait.
    private(set) var waiting = 0
    private let crowd: Int
    /// Until when those of the last crowd wait at the longest, and a choice among them may come.
    private var crowdEnds: Instant?
    private let longestWait: Duration
    /// Nil until it is needed, and where the process may not ask.
    private lazy var owners = try? SocketOwners()
    /// The programs whose sockets have queries that wait, when the kernel named them, and how many queries.
    private var known: [SocketAddress: (program: ClientNetwork, asked: Instant, queries: Int)] = [:]
    /// For how long what the kernel said counts: a program that opens and closes sockets as fast as it can has had but a
    /// small part of all ports in that time.
    private static let trust: Duration = .milliseconds(10)

    /// - Parameters:
    ///   - crowd: from how many waiting queries on the owners count.
    ///   - longestWait: how long a query waits at most.
    init(crowd: Int, longestWait: Duration) { (self.crowd, self.longestWait) = (crowd, longestWait) }

    /// In whose share a query is.
    ///
    /// - Parameters:
    ///   - now: when it began to wait.
    ///   - isBraked: whether misses of its address near the brake.
    func network(of client: SocketAddress, by path: ReplyPath, at now: Instant, isBraked: (ClientNetwork) -> Bool)
        -> ClientNetwork
    {
        let usual = ClientNetwork(client.ip)
        // Over TCP what its own connections hold is bounded already.
        guard client.ip.isLoopback, case .datagram(let datagram) = path, isCrowded(at: now) || isBraked(usual) else {
            return usual
        }
        if let (program, asked, _) = known[client], now - asked < Self.trust { return program }
        guard let owner = owners?.owner(of: client, asking: datagram.destination(of: client.family)) else {
            return usual
        }
        let program = ClientNetwork(user: owner.user, group: owner.group)
        if let queries = known[client]?.queries { known[client] = (program, now, queries) }
        return program
    }

    private func isCrowded(at now: Instant) -> Bool {
        if waiting >= crowd { crowdEnds = now + longestWait }
        guard let end = crowdEnds, now < end else {
            crowdEnds = nil
            return false
        }
        return true
    }

    /// Counts a query that begins to wait.
    ///
    /// - Parameters:
    ///   - network: in whose share it is.
    ///   - now: when `network(of:by:at:isBraked:)` said so.
    func add(_ client: SocketAddress, in network: ClientNetwork, at now: Instant) {
        guard client.ip.isLoopback else { return }
        waiting += 1
        if network.program != nil { known[client, default: (network, now, 0)].queries += 1 }
    }

    /// Counts a query that waits no more: what `add` counted.
    func remove(_ client: SocketAddress, in network: ClientNetwork) {
        guard client.ip.isLoopback else { return }
        waiting -= 1
        guard network.program != nil, let queries = known[client]?.queries else { return }
        if queries == 1 { known[client] = nil } else { known[client]?.queries = queries - 1 }
    }

    /// How many sockets are remembered. For tests.
    var knownCount: Int { known.count }
}
