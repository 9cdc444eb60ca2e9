import DNSResolver
public import DNSWire
import Platform

/// What the queries to the servers of one LocalDNS need and share.
struct LocalDNSEnvironment: Sendable {
    /// Its name, for events.
    let name: String
    let report: @Loop (ResolverEvent) -> Void
    let limit: LocalDNSLimit
    /// Says which servers are unreachable now, and are therefore not queried.
    let paths: NetworkPaths
    let loop: EventLoop
    /// For deadlines; the loop except in tests.
    let clock: any LoopClock
}

/// Limits the number of outstanding queries, of one `LocalDNS` or of several that share the limit.
///
/// Each has a descriptor. The rule is `FairShare`'s. A network that would itself have the most displaces its own oldest
/// query, once that has been without a response for so long that an answer is unlikely, by the first query of a lookup:
/// so names that are answered have priority over names that are not, and over repeats.
@Loop
public final class LocalDNSLimit: Sendable {
    /// The longest wait for a server that does not respond before the next one is queried; after it a query may be
    /// displaced by another one of its own network.
    nonisolated static let patience = Duration.milliseconds(400)

    /// The most outstanding queries. Default 1,024.
    public nonisolated let maximum: Int
    private var shares: FairShare
    private var queries: [FairShare.Ticket: (began: Instant, displace: @Loop (FairShare.Ticket) -> Void)] = [:]

    public nonisolated init(maximum: Int = 1_024) {
        self.maximum = maximum
        shares = FairShare(capacity: maximum)
    }

    /// The number of outstanding queries.
    public var count: Int { shares.count }

    /// Why a query is not sent.
    nonisolated var failure: UpstreamFailure { .overloaded("\(maximum) queries to LocalDNS are under way") }

    /// Adds a query, which may be the only one of its lookup; nil when the limit is reached and none can be displaced. When
    /// it is displaced itself, later, it has left, and `displace` is called with its ticket.
    func enter(
        for network: ClientNetwork, isOnly: Bool, at now: Instant, displace: @escaping @Loop (FairShare.Ticket) -> Void
    ) -> FairShare.Ticket? {
        if shares.isFull {
            guard let leaving = leaving(for: network, isOnly: isOnly, at: now) else { return nil }
            let displaced = queries[leaving]
            leave(leaving)
            displaced?.displace(leaving)
        }
        let ticket = shares.add(for: network)
        queries[ticket] = (now, displace)
        return ticket
    }

    private func leaving(for network: ClientNetwork, isOnly: Bool, at now: Instant) -> FairShare.Ticket? {
        if let ticket = shares.yielding(to: network) { return ticket }
        guard isOnly, let own = shares.first(of: network), let query = queries[own] else { return nil }
        return now - query.began >= Self.patience ? own : nil
    }

    func leave(_ ticket: FairShare.Ticket) {
        shares.remove(ticket)
        queries[ticket] = nil
    }
}

/// A server in a lookup, and what became of it there.
@Loop
struct LocalDNSCandidate {
    let server: LocalDNSServer
    /// Servers of one group know the same names.
    let group: Int
    /// Nil: the lookup is a probe of the server, which begins as if nothing were known of it.
    let health: AddressHealth?
    /// How it is queried first.
    let first: LocalDNSWay
    /// Whether it was queried over TCP beside the plan, and whether anything came from it over UDP.
    var (isAskedBeside, isHeardOverUDP) = (false, false)
    /// Whether it refused to answer, or one of its group denied the name.
    var hasNothingMore = false

    init(_ server: LocalDNSServer, group: Int = 0, _ health: AddressHealth? = nil, _ way: LocalDNSWay = LocalDNSWay()) {
        (self.server, self.group, self.health) = (server, group, health)
        first = server.usesTCP ? way.overTCP : way
    }

    /// Whether it is silent, and not just for a moment: a denial by the others is final without it.
    var isAway: Bool { health?.isUsable == false }
}
