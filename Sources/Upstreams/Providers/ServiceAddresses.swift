import DNSResolver
import DNSWire
import Scheduling

/// The addresses of a service's host, looked up through LocalDNS: never through ourselves, whom the service feeds.
///
/// LocalDNS may lie here too. A false address is never believed, for the certificate there is wrong; but it must not take
/// the place of a good one either: `HTTPDNSUpstream` keeps addresses that have answered until a new one does.
/// The last addresses are kept until newer ones come; they are renewed when somebody needs them after their TTL, so an
/// idle daemon stays idle.
@Loop
final class ServiceAddresses {
    /// Bounds of the time between two look-ups, whatever the TTL says.
    static let refreshInterval: ClosedRange<Duration> = .seconds(60)...(.seconds(86_400))
    /// The least time between two look-ups without success: while nothing is known, and while there are old addresses.
    static let retryInterval: (withoutAddresses: Duration, withAddresses: Duration) = (.seconds(1), .seconds(30))
    /// The least time between a look-up and one that is made early because an address does not answer.
    static let failureInterval: Duration = .seconds(10)
    /// How many addresses of each family are used, the first ones: each may cost connections, and a false reply may
    /// hold thousands.
    static let familyLimit = 4
    /// How long a look-up may take.
    static let timeout: Duration = .seconds(3)

    private let host: Name
    private let upstream: any Upstream
    private let clock: any LoopClock
    private var addresses: [IPAddress] = []
    private var due: Instant
    private var lastLookup: Instant?
    private var isLookingUp = false
    /// Whether the network has changed since the look-up under way began.
    private var isOutdated = false
    private var waiters: [LookupWaiter] = []
    /// Called with the new addresses whenever they have changed; never with none.
    var onChange: (@Loop ([IPAddress]) -> Void)?

    init(host: Name, upstream: any Upstream, clock: any LoopClock) {
        self.host = host
        self.upstream = upstream
        self.clock = clock
        due = clock.now
    }

    /// Uses what an earlier look-up found until the next one has ended; without effect once one has.
    func restore(_ earlier: [IPAddress]) {
        let earlier =
            Self.first(earlier.filter { $0.recordType == .a }) + Self.first(earlier.filter { $0.recordType == .aaaa })
        guard addresses.isEmpty, !earlier.isEmpty else { return }
        addresses = earlier
        onChange?(earlier)
    }

    /// Starts a look-up if it is time and none is under way. Returns at once.
    func refreshIfDue() {
        guard !isLookingUp, clock.now >= due else { return }
        isLookingUp = true
        Loop.spawn { await self.refresh() }
    }

    /// Brings the next look-up forward: an address does not answer, perhaps it is not the service's any more.
    func addressFailed() {
        guard let lastLookup else { return }
        due = min(due, lastLookup + Self.failureInterval)
    }

    /// Looks up again at once: another network may have other addresses. Those known are used until then.
    func lookAgain() {
        due = clock.now
        isOutdated = isLookingUp
        refreshIfDue()
    }

    /// Returns when no look-up is under way any more, at `deadline`, or when the task is cancelled.
    func lookedUp(until deadline: Instant) async {
        let waiter = LookupWaiter()
        await withTaskCancellationHandler {
            await withCheckedContinuation { continuation in
                guard isLookingUp, !Task.isCancelled else { return continuation.resume() }
                waiter.wait(continuation, until: deadline, on: clock)
                waiters.append(waiter)
            }
        } onCancel: {
            Loop.spawn { waiter.resume() }
        }
    }

    private func refresh() async {
        await lookUp()
        if isOutdated { lookAgain() }
        for waiter in waiters { waiter.resume() }
        waiters = []
    }

    private func lookUp() async {
        let question = UpstreamQuestion(name: host, types: [.a, .aaaa], deadline: clock.now + Self.timeout)
        let reply = await upstream.ask(question)
        isLookingUp = false
        lastLookup = clock.now
        let answers = [RecordType.a, .aaaa].compactMap { type -> Answer? in
            guard case .answer(let answer) = reply.results[type] else { return nil }
            return answer
        }
        // One family alone may have failed: what is known of it stays.
        var found = answers.flatMap { Self.first($0.addresses) }
        guard !found.isEmpty else {
            due =
                clock.now + (addresses.isEmpty ? Self.retryInterval.withoutAddresses : Self.retryInterval.withAddresses)
            return
        }
        for type in [RecordType.a, .aaaa] where Self.hasFailed(reply.results[type]) {
            found += addresses.filter { $0.recordType == type }
        }
        let ttl = answers.flatMap(\.answers).map(\.ttl).min() ?? 0
        due =
            clock.now + min(max(.seconds(Int64(ttl)), Self.refreshInterval.lowerBound), Self.refreshInterval.upperBound)
        guard found != addresses else { return }
        addresses = found
        onChange?(found)
    }

    /// The first addresses, each once.
    private static func first(_ addresses: [IPAddress]) -> [IPAddress] {
        var kept: [IPAddress] = []
        for address in addresses where kept.count < familyLimit && !kept.contains(address) { kept.append(address) }
        return kept
    }

    private static func hasFailed(_ result: UpstreamResult?) -> Bool {
        if case .answer = result { false } else { true }
    }
}

/// One who waits for a look-up; resumed once.
@Loop
private final class LookupWaiter {
    private var continuation: CheckedContinuation<Void, Never>?
    private var timer: LoopTimer?

    nonisolated init() {}

    func wait(_ continuation: CheckedContinuation<Void, Never>, until deadline: Instant, on clock: any LoopClock) {
        self.continuation = continuation
        timer = clock.schedule(at: deadline) { [self] in resume() }
    }

    func resume() {
        timer?.cancel()
        timer = nil
        continuation.take()?.resume()
    }
}
