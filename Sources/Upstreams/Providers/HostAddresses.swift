import DNSResolver
import DNSWire

/// The addresses of a service's host, from `HostSources`.
///
/// They may be forged. A forged address is never used for answers, since its certificate is invalid; but it must not
/// displace a valid address either: `HTTPDNSProvider` retains addresses that have answered until a new one answers, and once
/// an address does not answer, every source is asked, and the addresses of all are used. The last addresses are retained until newer ones come; they are renewed when they are
/// needed after their TTL, so an idle daemon stays idle.
@Loop
final class HostAddresses {
    /// Bounds of the time between two look-ups, whatever the TTL is.
    static let refreshInterval: ClosedRange<Duration> = .seconds(60)...(.seconds(86_400))
    /// The least time between two look-ups without success: while no address is known, and while old ones are.
    ///
    /// No `Backoff`: a look-up is only made when a client needs the addresses, and costs one query to a server of LocalDNS,
    /// or to a provider's address, which have a backoff of their own. Without addresses nothing else can be asked, so waiting longer would gain nothing.
    static let retryInterval: (withoutAddresses: Duration, withAddresses: Duration) = (.seconds(1), .seconds(30))
    /// The least time between a look-up and an early one made because an address does not answer.
    static let failureInterval: Duration = .seconds(10)
    /// The most addresses of each family and source that are used, the first ones: each may cost connections, and a forged
    /// response may contain thousands.
    static let familyLimit = 4
    /// The time-out of a look-up.
    static let timeout: Duration = .seconds(3)

    private let host: Name
    private let sources: HostSources
    private let clock: any LoopClock
    private let timeout: Duration
    private var addresses: [IPAddress] = []
    private var due: Instant
    private var lastLookup: Instant?
    private var isLookingUp = false
    /// Whether the next look-up asks every source: an address of the better ones has not answered.
    private var asksAll = false
    /// Whether the last look-up has asked every source; and whether since an address had not answered.
    private var (hasAskedAll, wasDoubted) = (false, false)
    /// Whether the network has changed since the current look-up began.
    private var isOutdated = false
    /// Those that wait for the look-up, each until its time is over.
    private var waiters: [LoopTimer] = []
    /// Called with the new addresses whenever they have changed; never with an empty list.
    var onChange: (@Loop ([IPAddress]) -> Void)?

    /// - Parameter timeout: of a look-up; another one in tests, so that no busy machine decides.
    init(host: Name, sources: HostSources, clock: any LoopClock, timeout: Duration = HostAddresses.timeout) {
        self.timeout = timeout
        self.host = host.lowercased
        self.sources = sources
        self.clock = clock
        due = clock.now
    }

    /// Uses the result of an earlier process until the next look-up has ended; ignored once one has.
    func restore(_ earlier: [IPAddress]) {
        let earlier = [RecordType.a, .aaaa].flatMap { type in Self.first(earlier.filter { $0.recordType == type }) }
        guard addresses.isEmpty, !earlier.isEmpty else { return }
        addresses = earlier
        onChange?(earlier)
    }

    /// Starts a look-up if one is due and none is in progress. Returns at once.
    func refreshIfDue() {
        guard !isLookingUp, clock.now >= due else { return }
        isLookingUp = true
        Loop.spawn { await self.refresh() }
    }

    /// Called when an address does not answer: it may be forged, or not be the service's any more. The next look-up asks
    /// every source, and is due at once unless the last one has. Nothing follows from one among others that such a look-up
    /// found: of every source's addresses some may be forged at any time.
    ///
    /// - Parameter isLast: whether no other one may be asked: then it is begun as soon as it is due.
    func addressFailed(isLast: Bool = true) {
        guard isLast || !wasDoubted else { return }
        asksAll = true
        guard let lastLookup else { return }
        due = min(due, hasAskedAll ? lastLookup + Self.failureInterval : clock.now)
        if isLast { refreshIfDue() }
    }

    /// Looks up again at once: in another network the host may have other addresses. The known ones are used until
    /// then.
    func lookAgain() {
        due = clock.now
        asksAll = false
        isOutdated = isLookingUp
        refreshIfDue()
    }

    /// Returns when no look-up is in progress, or at `deadline`.
    func lookedUp(until deadline: Instant) async {
        guard isLookingUp else { return }
        await withCheckedContinuation { waiter in
            waiters.append(clock.schedule(at: deadline) { waiter.resume() })
        }
    }

    private func refresh() async {
        await lookUp()
        if isOutdated { lookAgain() }
        for waiter in waiters { waiter.fire() }
        waiters = []
    }

    private func lookUp() async {
        let (replies, areAll) = await sources.replies(
            about: host, asksAll: asksAll, until: clock.now + timeout, at: clock.now)
        isLookingUp = false
        (hasAskedAll, wasDoubted) = (areAll, asksAll && areAll)
        lastLookup = clock.now
        let answers = replies.map { reply in [RecordType.a, .aaaa].compactMap { Self.answer(reply.results[$0]) } }
        // When only one family failed, its known addresses are retained.
        var found = Self.distinct(answers.flatMap { $0.flatMap { Self.first($0.addresses) } })
        guard !found.isEmpty else {
            due =
                clock.now + (addresses.isEmpty ? Self.retryInterval.withoutAddresses : Self.retryInterval.withAddresses)
            return
        }
        if areAll { asksAll = false }
        for type in [RecordType.a, .aaaa] where replies.allSatisfy({ Self.answer($0.results[type]) == nil }) {
            found += addresses.filter { $0.recordType == type }
        }
        let ttl = answers.flatMap { $0.flatMap(\.answers) }.map(\.ttl).min() ?? 0
        due =
            clock.now + min(max(.seconds(Int64(ttl)), Self.refreshInterval.lowerBound), Self.refreshInterval.upperBound)
        guard found != addresses else { return }
        addresses = found
        onChange?(found)
    }

    /// The first `familyLimit` addresses, without duplicates.
    private static func first(_ addresses: [IPAddress]) -> [IPAddress] {
        Array(distinct(addresses).prefix(familyLimit))
    }

    private static func distinct(_ addresses: [IPAddress]) -> [IPAddress] {
        var seen: Set<IPAddress> = []
        return addresses.filter { seen.insert($0).inserted }
    }

    private static func answer(_ result: UpstreamResult?) -> Answer? {
        if case .answer(let answer) = result { answer } else { nil }
    }
}

/// The endpoint of a service whose host is being looked up for the first time.
///
/// Without it the first queries after a start would find no address and fall back to LocalDNS, which may be hijacked.
@Loop
final class BootstrapEndpoint: Endpoint {
    nonisolated let name: String
    let health = AddressHealth()
    private let lookup: HostAddresses
    private let first: @Loop () -> (any Endpoint)?

    /// - Parameter first: returns the endpoint of the first address, nil before there is one.
    init(host: String, lookup: HostAddresses, first: @escaping @Loop () -> (any Endpoint)?) {
        name = "\(host) (being looked up)"
        self.lookup = lookup
        self.first = first
    }

    func begin(
        _ question: UpstreamQuestion, delayed: @escaping @Loop () -> Void,
        done: @escaping @Loop (UpstreamReply) -> Void
    ) -> any Cancellable {
        lookedUp(by: question.deadline, question.types, done) { $0.begin(question, delayed: delayed, done: done) }
    }

    func probe(until deadline: Instant, done: @escaping @Loop (UpstreamReply) -> Void) -> any Cancellable {
        lookedUp(by: deadline, [.a], done) { $0.probe(until: deadline, done: done) }
    }

    /// Waits for the look-up, then asks at the first address found.
    private func lookedUp(
        by deadline: Instant, _ types: [RecordType], _ done: @escaping @Loop (UpstreamReply) -> Void,
        _ begin: @escaping @Loop (any Endpoint) -> any Cancellable
    ) -> any Cancellable {
        let attempt = CurrentWork()
        attempt.work = SpawnedWork({ [lookup] in await lookup.lookedUp(until: deadline) }) { [self] in
            attempt.work = first().map(begin)
            guard attempt.work == nil else { return }
            done(UpstreamReply(failure: .network("\(name): no address found"), types: types))
        }
        return attempt
    }

    func retireConnections() {}
}

/// What is under way of work that has several parts, one after the other.
@Loop
final class CurrentWork: Cancellable {
    var work: (any Cancellable)?

    func cancel() { work.take()?.cancel() }
}
