import Scheduling

/// The time of day as a service sees it: ours, corrected by what the service told of its own.
@Loop
final class ServiceClock {
    /// What can be the time of day at all, 2025 to 2099. Ours before that was never set.
    static let plausible: Range<Int64> = 1_735_689_600..<4_102_444_800
    /// How far the time told over plain http, which anybody may have written, may be from ours, if ours was ever set: a
    /// wrong date and time zone. What is signed by a time that is further ahead would be good for whoever wrote it.
    static let forgeableLimit: Int64 = 2 * 86_400

    private let timeOfDay: @Sendable () -> Int64
    /// Whether what the service tells is known to come from it.
    let isAuthenticated: Bool
    /// Seconds by which the service is ahead of us.
    private(set) var offset: Int64 = 0

    /// - Parameters:
    ///   - isAuthenticated: whether what the service tells is known to come from it.
    ///   - timeOfDay: seconds since 1970.
    init(isAuthenticated: Bool, _ timeOfDay: @escaping @Sendable () -> Int64) {
        self.isAuthenticated = isAuthenticated
        self.timeOfDay = timeOfDay
    }

    /// Seconds since 1970, for the service.
    var now: Int64 { timeOfDay() &+ offset }

    /// Seconds since 1970, by our own clock.
    var own: Int64 { timeOfDay() }

    /// Takes up what was learned before, unless something was learned since.
    ///
    /// - Parameters:
    ///   - offset: seconds by which the service was ahead of us.
    ///   - time: when that was told, by our clock. If that clock, or ours now, was never set, it says nothing today.
    func restore(_ offset: Int64, toldAt time: Int64) {
        let own = timeOfDay()
        guard self.offset == 0, Self.plausible.contains(time), Self.plausible.contains(own), own >= time else { return }
        let (theirs, overflow) = own.addingReportingOverflow(offset)
        if !overflow { _ = learn(theirs) }
    }

    /// Remembers what time it is at the service.
    ///
    /// - Returns: whether that is news, and can be true; if not, another attempt would fail alike.
    func learn(_ time: Int64) -> Bool {
        let own = timeOfDay()
        guard Self.plausible.contains(time) else { return false }
        let (ahead, overflow) = time.subtractingReportingOverflow(own)
        guard !overflow, isAuthenticated || !Self.plausible.contains(own) || abs(ahead) <= Self.forgeableLimit
        else { return false }
        // A second is how long the reply may have been on its way.
        let (change, isFar) = ahead.subtractingReportingOverflow(offset)
        guard isFar || change.magnitude > 1 else { return false }
        offset = ahead
        return true
    }
}
