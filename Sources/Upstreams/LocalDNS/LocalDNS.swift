public import DNSResolver
public import DNSWire
public import Platform

/// The network's own resolvers, or those of a `forward` entry.
///
/// A question, which is for one type, is a `LocalDNSLookup`, which moves from server to server; each query has its own ID,
/// letter case and port (`LocalDNSExchange`). Neither /etc/resolv.conf, hosts files nor the environment is read here.
@Loop
public final class LocalDNS: Upstream {
    public nonisolated let name: String
    /// The zone for which the servers are used: health probes query its NS records, and loops are detected below it.
    public nonisolated let zone: Name
    /// The servers in the order in which they are queried while none is in backoff; at most `maximumServers`, none twice.
    /// Those of one group know the same names; each group may know others.
    public private(set) var groups: [[LocalDNSServer]]

    /// The servers of all groups.
    public var servers: [LocalDNSServer] { groups.flatMap(\.self) }

    /// The most servers used: a further one would not be reached in time.
    public nonisolated static let maximumServers = 8
    /// The default of `[localdns] timeout`.
    public nonisolated static let defaultTimeout = Duration.milliseconds(1_500)

    nonisolated let environment: LocalDNSEnvironment
    private var clock: any LoopClock { environment.clock }
    private let timeout: Duration
    /// Seconds; longer TTLs of answers are cut to this.
    private let maxTTL: UInt32
    /// Of each server, as soon as anything is to be known of it.
    private var knownProbes: [LocalDNSServer: LocalDNSProbes] = [:]
    /// Finds servers while there are none, at most once a second; for `servers = "auto"` on a network that comes up
    /// later.
    public var findServers: (@Loop () -> [LocalDNSServer])?
    /// Called with the servers once one of them has answered.
    public var onWorking: (@Loop ([LocalDNSServer]) -> Void)?
    private var isKnownToWork = false
    /// Servers that worked for an earlier process: used while none can be found.
    private var earlierServers: [LocalDNSServer] = []
    private var lastSearch: Instant?
    /// Where names arrive that servers in a forwarding loop with us send back; nil without our own listener.
    private var listener: LoopProbes?
    private var lookups: [ObjectIdentifier: LocalDNSLookup] = [:]

    /// - Parameters:
    ///   - groups: the servers to begin with.
    ///   - zone: the root for servers that answer every name.
    ///   - timeout: the time-out of one question, if its deadline is not earlier.
    ///   - maxTTL: longer TTLs of answers are cut to this, in whole seconds; by default they are as they come.
    ///   - limit: may be shared with other instances.
    ///   - paths: says which servers are unreachable now, and are therefore not queried.
    ///   - clock: for deadlines; the loop except in tests.
    ///   - report: called with events for servers that do not respond, and when they do again.
    public nonisolated init(
        name: String = "localdns", groups: [[LocalDNSServer]], zone: Name = .root,
        timeout: Duration = LocalDNS.defaultTimeout, maxTTL: Duration = .seconds(UInt32.max),
        limit: LocalDNSLimit = LocalDNSLimit(), paths: NetworkPaths = NetworkPaths(), loop: EventLoop,
        clock: (any LoopClock)? = nil, report: @escaping @Loop (ResolverEvent) -> Void = { _ in }
    ) {
        self.name = name
        self.zone = zone
        self.groups = Self.distinct(groups)
        self.timeout = timeout
        self.maxTTL = UInt32(clamping: maxTTL.components.seconds)
        environment = LocalDNSEnvironment(
            name: name, report: report, limit: limit, paths: paths, loop: loop, clock: clock ?? loop)
    }

    /// Replaces the servers, and discards the state of the old ones; lookups in progress restart. Returns false where they
    /// are these already, and does nothing then.
    @discardableResult
    public func useServers(_ groups: [[LocalDNSServer]]) -> Bool {
        let groups = Self.distinct(groups)
        guard groups != self.groups else { return false }
        self.groups = groups
        isKnownToWork = false
        networkChanged()
        return true
    }

    /// Begins with the servers that `old` has found, or would use while none can be found.
    public func takeServers(of old: LocalDNS) {
        groups = old.groups
        earlierServers = old.earlierServers
    }

    /// Called when the network has changed: ends all backoffs, even if the servers are the same.
    public func networkChanged() {
        for probes in knownProbes.values { probes.forget() }
        knownProbes = knownProbes.filter { servers.contains($0.key) }
        lastSearch = nil
        for lookup in lookups.values { lookup.startOver() }
        findLoops()
    }

    /// Enables the detection of forwarding loops, at once and whenever the servers or the network change; looping
    /// servers are not queried. Our own listener must be open already.
    public func findLoops(with listener: LoopProbes) {
        self.listener = listener
        findLoops()
    }

    private func findLoops() {
        guard let listener else { return }
        for server in servers { probes(of: server).findLoop(by: listener) }
    }

    /// Whether `server` is in a forwarding loop with us, and is therefore not queried.
    public func isLooping(_ server: LocalDNSServer) -> Bool { knownProbes[server]?.isLooping ?? false }

    private func probes(of server: LocalDNSServer) -> LocalDNSProbes {
        if let known = knownProbes[server] { return known }
        let made = LocalDNSProbes(of: server, zone: zone, environment) { [weak self] in
            self?.lookups.values.forEach { $0.askOverTCPAsWell(server) }
        }
        knownProbes[server] = made
        return made
    }

    /// Queries the first of the question's types. It is never delayed.
    ///
    /// The result is `.answer` for NOERROR and NXDOMAIN, or the most informative failure when no server gave an answer:
    /// `.responseCode`, `.unusable`, `.network`, `.overloaded`; `.noServer` when there is no server to query, and
    /// `.timeout` without any response.
    public func begin(
        _ question: UpstreamQuestion, delayed: @escaping @Loop () -> Void,
        done: @escaping @Loop (UpstreamReply) -> Void
    ) -> any Cancellable {
        searchIfNeeded()
        for probes in knownProbes.values { probes.findLoopIfDue() }
        var asked = question
        asked.deadline = min(asked.deadline, clock.now + timeout)
        let lookup = LocalDNSLookup(asked, environment, at: candidates)
        lookups[ObjectIdentifier(lookup)] = lookup
        lookup.onAnswer = { [self, asked = lookup.question, holder = question.holder] in
            answered($0, asked, for: holder)
        }
        lookup.onDoubt = { [self] in doubted($0, since: $1) }
        lookup.start()
        for server in servers where !isLooping(server) { probes(of: server).beginDue(while: question) }
        let end: @Loop () -> Void = { [self] in ended(lookup, done) }
        // The caller is not ready for a result before this returns.
        if lookup.outcome == nil { lookup.onEnd = end } else { Loop.spawn { end() } }
        return lookup
    }

    private func ended(_ lookup: LocalDNSLookup, _ done: @Loop (UpstreamReply) -> Void) {
        lookups[ObjectIdentifier(lookup)] = nil
        guard !lookup.isCancelled else { return }
        var result = lookup.outcome ?? .failure(.timeout)
        if case .answer(let answer) = result { result = .answer(answer.limited(to: maxTTL)) }
        done(UpstreamReply([lookup.question.type: result], server: lookup.answeredBy?.description ?? ""))
    }

    /// Restores the servers that worked for an earlier process.
    public func restore(_ earlier: [LocalDNSServer]) {
        earlierServers = earlier
        lastSearch = nil
    }

    private func searchIfNeeded() {
        guard servers.isEmpty, let findServers else { return }
        if let lastSearch, clock.now - lastSearch < .seconds(1) { return }
        lastSearch = clock.now
        let found = findServers()
        useServers([found.isEmpty ? earlierServers : found])
    }

    /// When `server`, which is in backoff, is probed again; nil if it is not in backoff.
    public func backoffEnd(_ server: LocalDNSServer) -> Instant? {
        probes(of: server).health.backoff.nextProbe
    }

    // MARK: For lookups

    /// The servers in the order in which a lookup that begins now queries them. Throws why there is none.
    func candidates() throws(UpstreamFailure) -> [LocalDNSCandidate] {
        var reason = UpstreamFailure.noServer(
            servers.isEmpty ? "\(name) has no server" : "every server of \(name) forwards to us")
        func isAble(_ server: LocalDNSServer) -> Bool {
            guard !isLooping(server) else { return false }
            guard let unreachable = environment.paths.unreachableReason(for: server.address) else { return true }
            reason = .network(unreachable)
            return false
        }
        // One that is being probed stays with its group: those of another group may not know the name, or know another
        // address for it.
        let candidates = groups.enumerated().flatMap { group, servers in
            servers.filter(isAble).map { server in
                let probes = probes(of: server)
                return LocalDNSCandidate(server, group: group, probes.health, probes.way)
            }.puttingLast { $0.health?.backoff.isProbing == true }
        }.puttingLast(where: \.isAway)
        guard !candidates.isEmpty else { throw reason }
        return candidates
    }

    /// Called when `server` has answered a question that counts against the share of `holder`.
    func answered(_ server: LocalDNSServer, _ question: Question, for holder: ClientNetwork) {
        if !isKnownToWork {
            isKnownToWork = true
            onWorking?(servers)
        }
        probes(of: server).answered(question, for: holder)
    }

    /// Called when something since `began` is a reason to probe `server`.
    func doubted(_ server: LocalDNSServer, since began: Instant) { probes(of: server).doubted(since: began) }

    /// The index of the group of `server`; nil for a server that is not used any more.
    public func group(of server: LocalDNSServer) -> Int? { groups.firstIndex { $0.contains(server) } }

    private nonisolated static func distinct(_ groups: [[LocalDNSServer]]) -> [[LocalDNSServer]] {
        var seen: Set<LocalDNSServer> = []
        return groups.map { group in
            group.filter { seen.count < maximumServers && seen.insert($0).inserted }
        }.filter { !$0.isEmpty }
    }
}

extension Array {
    /// In the same order, except that some come last.
    fileprivate func puttingLast(where isLast: (Element) -> Bool) -> [Element] {
        filter { !isLast($0) } + filter(isLast)
    }
}
