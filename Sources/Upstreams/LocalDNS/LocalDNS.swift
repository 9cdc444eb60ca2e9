package import DNSResolver
package import DNSWire
package import Platform
package import Scheduling

/// The network's own resolvers, or those of a `forward` entry, asked through c-ares.
///
/// Each type of a question is a query of its own with its own ID, letter case, source port and channel; `LocalDNSLookup`
/// says how it moves from server to server. The path of a reply: socket, `AresChannel`, `LocalDNSQuery.read`,
/// `ReceivedReply`. Nothing of /etc/resolv.conf, hosts files or the environment is ever read here.
@Loop
package final class LocalDNS: Upstream {
    package nonisolated let name: String
    /// The servers in the order in which they are asked while all are well; at most `maximumServers`.
    package private(set) var servers: [LocalDNSServer]

    /// More servers than this are not used: the last one would not be reached in time.
    package nonisolated static let maximumServers = 8
    /// The default of `[localdns] timeout`.
    package nonisolated static let defaultTimeout = Duration.milliseconds(1_500)

    let loop: EventLoop
    let clock: any LoopClock
    let limit: LocalDNSChannelLimit
    let paths: NetworkPaths
    private let timeout: Duration
    let report: @Loop (ResolverEvent) -> Void
    private var health: [LocalDNSServer: LocalDNSHealth] = [:]
    /// Of servers that did not answer every query with EDNS.
    private var support: [LocalDNSServer: EDNSSupport] = [:]
    /// Finds servers while there are none, once a second at most; for `servers = "auto"` on a network that comes up later.
    package var findServers: (@Loop () -> [LocalDNSServer])?
    /// Told of the servers once one of them has answered.
    package var onWorking: (@Loop ([LocalDNSServer]) -> Void)?
    private var isKnownToWork = false
    /// Servers that worked for an earlier process: asked while none can be found.
    private var earlierServers: [LocalDNSServer] = []
    private var lastSearch: Instant?
    /// Finds out which servers lead back to us; nil where nobody listens.
    private var loops: LoopGuard?
    /// When the network last changed: what failed of lookups begun before says nothing.
    private var forgotten = Instant(nanoseconds: .min)
    /// Those under way.
    private var lookups: [ObjectIdentifier: LocalDNSLookup] = [:]

    /// - Parameters:
    ///   - timeout: the most time for one question, whatever its deadline.
    ///   - limit: shared with others if need be.
    ///   - paths: says which servers cannot be reached now, and are therefore not asked.
    ///   - clock: for deadlines; the loop unless a test says otherwise.
    ///   - report: told of servers that stay silent, and of their return.
    package nonisolated init(
        name: String = "localdns", servers: [LocalDNSServer], timeout: Duration = LocalDNS.defaultTimeout,
        limit: LocalDNSChannelLimit = LocalDNSChannelLimit(), paths: NetworkPaths = NetworkPaths(), loop: EventLoop,
        clock: (any LoopClock)? = nil,
        report: @escaping @Loop (ResolverEvent) -> Void = { _ in }
    ) {
        self.report = report
        self.name = name
        self.servers = Self.distinct(servers)
        self.timeout = timeout
        self.limit = limit
        self.paths = paths
        self.loop = loop
        self.clock = clock ?? loop
    }

    /// Asks other servers from now on, and forgets how the old ones behaved; questions on their way begin anew.
    package func replaceServers(_ servers: [LocalDNSServer]) {
        self.servers = Self.distinct(servers)
        isKnownToWork = false
        forgetFailures()
        loops?.probe(self.servers)
    }

    /// The network is another one: who failed is asked like the others, also where the servers are the same.
    package func networkChanged() {
        forgetFailures()
        loops?.probe(servers)
    }

    private func forgetFailures() {
        health = [:]
        support = [:]
        lastSearch = nil
        forgotten = clock.now
        for lookup in lookups.values { lookup.startOver() }
    }

    /// Looks from now on, when the servers or the network change, whether a server leads back to us; such a one is not
    /// asked. Looks at once, so what serves our own port must be listening.
    ///
    /// - Parameter zone: below which names are asked: the zone of probes, or what the servers are configured for.
    package func findLoops(with probes: LoopProbes, below zone: Name) {
        let loops = self.loops ?? LoopGuard(of: self, probes: probes, zone: zone)
        self.loops = loops
        loops.probe(servers)
    }

    /// Whether `server` leads back to us, and is therefore not asked.
    package func isLooping(_ server: LocalDNSServer) -> Bool { loops?.looping.contains(server) ?? false }

    /// Asks for all types at once.
    ///
    /// Each result is `.answer` for NOERROR and NXDOMAIN, or the failure that says most when no server gave one:
    /// `.responseCode`, `.unusable`, `.network`, `.overloaded`; `.noServer` where there is nothing to ask, and `.timeout` when
    /// nothing came at all.
    package func ask(_ question: UpstreamQuestion) async -> UpstreamReply {
        searchIfNeeded()
        loops?.probeIfDue(servers)
        let deadline = min(question.deadline, clock.now + timeout)
        let lookups = Set(question.types).map { LocalDNSLookup($0, of: question, deadline: deadline, localDNS: self) }
        for lookup in lookups { self.lookups[ObjectIdentifier(lookup)] = lookup }
        defer { for lookup in lookups { self.lookups[ObjectIdentifier(lookup)] = nil } }
        var reply = UpstreamReply([:])
        await withTaskCancellationHandler {
            for lookup in lookups {
                if Task.isCancelled { lookup.cancel() } else { lookup.start() }
            }
            for lookup in lookups {
                reply.results[lookup.question.type] = await lookup.result()
                if let server = lookup.answeredBy { reply.server = server.description }
            }
        } onCancel: {
            Loop.spawn { for lookup in lookups { lookup.cancel() } }
        }
        return reply
    }

    /// Takes up which servers worked for an earlier process.
    package func restore(_ earlier: [LocalDNSServer]) {
        earlierServers = Self.distinct(earlier)
        lastSearch = nil
    }

    private func searchIfNeeded() {
        guard servers.isEmpty, let findServers else { return }
        if let lastSearch, clock.now - lastSearch < .seconds(1) { return }
        lastSearch = clock.now
        let found = findServers()
        replaceServers(found.isEmpty ? earlierServers : found)
    }

    /// Until when others are asked before `server`; nil while it is asked in its place.
    package func asideUntil(_ server: LocalDNSServer) -> Instant? { health[server]?.aside(at: clock.now) }

    // MARK: For lookups

    /// The servers in the order in which a lookup that begins now asks them.
    func serversInOrder() -> [LocalDNSServer] {
        let now = clock.now
        let servers = self.servers.filter { !isLooping($0) }
        let aside = servers.filter { health[$0]?.aside(at: now) != nil }
        return aside.isEmpty ? servers : servers.filter { !aside.contains($0) } + aside
    }

    /// Why a lookup asks nobody.
    var noServer: UpstreamFailure {
        .noServer(servers.isEmpty ? "\(name) has no server" : "every server of \(name) leads back to us")
    }

    /// How long `server` has before the next one joins, at most; counts a probe as failed until it is answered, so that only
    /// one lookup makes it.
    func beginsAttempt(at server: LocalDNSServer) -> Duration? {
        guard let state = health[server], state.isSuspect, state.aside(at: clock.now) == nil else { return nil }
        count(server)
        return LocalDNSHealth.probeShare
    }

    /// - Parameter began: when the lookup did.
    func failed(_ server: LocalDNSServer, began: Instant, because reason: String) {
        guard began >= forgotten else { return }
        count(server)
        guard let state = health[server], state.isSilent, !state.isReported else { return }
        health[server]?.isReported = true
        report(.serverSilent(upstream: name, server: server.description, reason: reason))
    }

    private func count(_ server: LocalDNSServer) {
        guard servers.contains(server) else { return }
        health[server, default: LocalDNSHealth()].failed(at: clock.now)
    }

    func answered(_ server: LocalDNSServer) {
        if !isKnownToWork {
            isKnownToWork = true
            onWorking?(servers)
        }
        guard let state = health.removeValue(forKey: server), state.isReported else { return }
        report(.serverRecovered(upstream: name, server: server.description))
    }

    /// Whether a query to `server` has EDNS.
    func offersEDNS(to server: LocalDNSServer) -> Bool { support[server]?.isOffered(at: clock.now) ?? true }

    /// `server` has answered a query with EDNS.
    func answeredWithEDNS(_ server: LocalDNSServer) { support[server] = nil }

    /// `server` has answered a query without EDNS after it refused one with it (`isCertain`), or did not answer one so far.
    func answeredPlain(_ server: LocalDNSServer, isCertain: Bool) {
        guard servers.contains(server) else { return }
        support[server, default: EDNSSupport()].answeredPlain(isCertain: isCertain, at: clock.now)
    }

    private nonisolated static func distinct(_ servers: [LocalDNSServer]) -> [LocalDNSServer] {
        var seen: Set<LocalDNSServer> = []
        return Array(servers.filter { seen.insert($0).inserted }.prefix(maximumServers))
    }
}
