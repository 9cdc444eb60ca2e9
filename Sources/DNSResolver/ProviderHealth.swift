package import Scheduling

/// Whether a provider's credentials are refused, and until when it is therefore left alone: 30 s, doubled each time up
/// to 10 min, until one answer. After each pause a single question is let through as a probe.
package struct ProviderHealth: Sendable {
    private static let firstPause: Duration = .seconds(30)
    private static let longestPause: Duration = .seconds(600)
    /// After this time a probe of which nothing was heard counts as over: no question takes longer.
    private static let longestProbe = Budget.answer

    /// Until when it is left alone, or was; nil when it has answered since.
    package private(set) var setAsideUntil: Instant?
    private var pause = ProviderHealth.firstPause
    private var probedAt: Instant?

    package init() {}

    package func isUsable(at now: Instant) -> Bool {
        guard let setAsideUntil else { return true }
        return now >= setAsideUntil && probedAt.map { now - $0 >= Self.longestProbe } ?? true
    }

    /// To be called as a question is about to be asked.
    package mutating func began(at now: Instant) {
        if setAsideUntil != nil { probedAt = now }
    }

    package mutating func succeeded() { self = ProviderHealth() }

    /// - Returns: for how long it is left alone; nil when it already is.
    package mutating func refused(at now: Instant) -> Duration? {
        // Questions that were under way when it was set aside add nothing.
        guard setAsideUntil.map({ now >= $0 }) ?? true else { return nil }
        probedAt = nil
        let taken = pause
        setAsideUntil = now + taken
        pause = min(pause * 2, Self.longestPause)
        return taken
    }
}
