import DNSWire
import Platform
import Scheduling

/// Tells the programs of this machine apart, which all ask from one address: by the owners of their sockets.
///
/// The kernel is asked only while a choice among them may come: when many of their queries wait, or their misses near the
/// brake; by a UDP thread while many wait for the loop. A query that is answered from the cache never comes here.
@Loop
final class LocalClients {
    /// How many of their queries wait.
    private(set) var waiting = 0
    private let crowd: Int
    /// Until when those of the last crowd wait at the longest, and a choice among them may come.
    private var crowdEnds: Instant?
    private let longestWait: Duration
    private let programs = LocalPrograms()

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
        return programs.program(of: client, by: datagram, at: now) ?? usual
    }

    private func isCrowded(at now: Instant) -> Bool {
        if waiting >= crowd { crowdEnds = now + longestWait }
        guard let end = crowdEnds, now < end else {
            crowdEnds = nil
            return false
        }
        return true
    }

    /// Counts a query that begins to wait, or that waits no more.
    func count(_ change: Int, of client: SocketAddress) { if client.ip.isLoopback { waiting += change } }
}

/// Whose the sockets of this machine are, as the kernel says. For one thread.
final class LocalPrograms {
    /// Nil until it is needed, and where the process may not ask.
    private lazy var owners = try? SocketOwners()
    /// What the kernel has said since `asked`. It counts for 10 ms: a program may close its socket, and the port be another's;
    /// one that opens and closes sockets as fast as it can has had but a small part of all ports in that time.
    private var known: [SocketAddress: ClientNetwork] = [:]
    private var asked: Instant?
    private static let trust: Duration = .milliseconds(10)

    /// The program that asks, as a client network; nil for a client elsewhere, and where its socket is closed.
    func program(of client: SocketAddress, by path: DatagramPath, at now: Instant) -> ClientNetwork? {
        guard client.ip.isLoopback else { return nil }
        if asked.map({ now - $0 >= Self.trust }) ?? true { (known, asked) = ([:], now) }
        if let program = known[client] { return program }
        guard let owner = owners?.owner(of: client, asking: path.destination(of: client.family)) else { return nil }
        let program = ClientNetwork(user: owner.user, group: owner.group)
        known[client] = program
        return program
    }
}
