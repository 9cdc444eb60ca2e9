import DNSResolver
import Scheduling

/// What all addresses of a provider have in common while it is asked: the service's time, and the calls of the day.
@Loop
final class ServiceAccount {
    let clock: ServiceClock
    private(set) var calls: DailyCalls
    private let provider: String
    private let report: @Loop (ResolverEvent) -> Void

    init(
        provider: String, clock: ServiceClock, calls: DailyCalls, report: @escaping @Loop (ResolverEvent) -> Void
    ) {
        self.provider = provider
        self.clock = clock
        self.calls = calls
        self.report = report
    }

    /// Whether the day's calls are not used up.
    var mayCall: Bool { !calls.isExhausted(at: clock.own) }

    /// Why no call may be made.
    var limitText: String { "its daily_limit of \(calls.limit) calls is reached" }

    /// Counts a request that is about to be sent as so many calls. Returns whether it may be.
    func take(calls count: Int = 1) -> Bool {
        let now = clock.own
        guard calls.take(count, at: now) else { return false }
        onChange?()
        if calls.isExhausted(at: now) { report(.dailyLimitReached(provider: provider, limit: calls.limit)) }
        return true
    }

    /// Goes on from what was counted before.
    func restore(_ record: DailyCalls.Record) { calls.restore(record, at: clock.own) }

    /// Called when a call was counted, and when the service's time was learned.
    var onChange: (@Loop () -> Void)?

    /// Called with the time of day that the service says over https, in seconds since 1970.
    var onDate: (@Loop (Int64) -> Void)?

    /// Hands on what time a reply says it is.
    func note(_ date: Int64) {
        if clock.isAuthenticated { onDate?(date) }
    }

    /// Takes over the service's time.
    func learn(_ time: Int64) {
        guard clock.learn(time) else { return }
        onChange?()
        report(.clockCorrected(provider: provider, seconds: clock.offset))
    }
}
