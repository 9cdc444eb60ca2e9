package import Scheduling

/// Whether a provider's credentials are refused, and until when it is therefore left alone: 30 s, doubled each time up
/// to 10 min, until one answer.
package struct ProviderHealth: Sendable {
    private static let firstPause: Duration = .seconds(30)
    private static let longestPause: Duration = .seconds(600)

    /// Until when it is left alone, or was; nil when it has answered since.
    package private(set) var setAsideUntil: Instant?
    private var pause = ProviderHealth.firstPause

    package init() {}

    package func isUsable(at now: Instant) -> Bool { setAsideUntil.map { now >= $0 } ?? true }

    package mutating func succeeded() { self = ProviderHealth() }

    /// - Returns: for how long it is left alone; nil when it already is.
    package mutating func refused(at now: Instant) -> Duration? {
        guard isUsable(at: now) else { return nil }
        let taken = pause
        setAsideUntil = now + taken
        pause = min(pause * 2, Self.longestPause)
        return taken
    }
}
