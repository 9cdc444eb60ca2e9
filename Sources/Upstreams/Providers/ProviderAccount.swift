import DNSResolver
import HTTPDNS
import Scheduling

/// State shared by all addresses of a provider: the service's time, the day's quota of calls, and how long its answers took.
@Loop
final class ProviderAccount {
    let clock: ProviderClock
    private(set) var calls: DailyCalls
    /// Of the answers to clients' questions, from the request.
    let latencies = LatencyHistogram()
    private let provider: String
    private let report: @Loop (ResolverEvent) -> Void

    init(
        provider: String, clock: ProviderClock, calls: DailyCalls, report: @escaping @Loop (ResolverEvent) -> Void
    ) {
        self.provider = provider
        self.clock = clock
        self.calls = calls
        self.report = report
    }

    /// Whether the day's quota is not exhausted.
    var mayCall: Bool { !calls.isExhausted(at: clock.own) }

    /// The reason when no call may be made.
    var limitText: String { "its daily_limit of \(calls.limit) calls is reached" }

    /// Counts a request that is about to be sent as `count` calls. Returns false if the quota does not allow it.
    func take(calls count: Int = 1) -> Bool {
        let now = clock.own
        guard calls.take(count, at: now) else { return false }
        onChange?()
        if calls.isExhausted(at: now) { report(.dailyLimitReached(provider: provider, limit: calls.limit)) }
        return true
    }

    /// Continues from a stored record.
    func restore(_ record: DailyCalls.Record) { calls.restore(record, at: clock.own) }

    /// Called when a call was counted, and when the service's time was learned.
    var onChange: (@Loop () -> Void)?

    /// Called with the service's time of day in a reply over https, in seconds since 1970.
    var onDate: (@Loop (Int64) -> Void)?

    /// Passes the time of day in a reply to `onDate`. One from an HTTP cache has the time of its first use, and which
    /// reply is long in a cache can be chosen by a client.
    func noteTime(of response: HTTPResponse) {
        guard clock.isAuthenticated, response.age ?? 0 == 0, let date = response.date else { return }
        onDate?(date)
    }

    /// Corrects the clock by the service's time.
    func learn(_ time: Int64) {
        guard clock.learn(time) else { return }
        onChange?()
        report(.clockCorrected(provider: provider, seconds: clock.offset))
    }
}
