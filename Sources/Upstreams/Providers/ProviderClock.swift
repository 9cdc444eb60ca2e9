import DNSWire
import Scheduling

/// The time of day of a service: ours, corrected by the times the service reported.
@Loop
final class ProviderClock {
    /// The range of plausible times of day, 2025 to 2099. Before that our clock was never set.
    static let plausible: Range<Int64> = 1_735_689_600..<4_102_444_800
    /// The most by which a time received over plain http, which may be forged, may differ from ours if ours was ever
    /// set: a wrong date and time zone. A signature made for a time further ahead would be usable by the forger until
    /// then.
    static let forgeableLimit: Int64 = 2 * 86_400

    private let timeOfDay: @Sendable () -> Int64
    /// Whether times are received over https, and so come from the service.
    let isAuthenticated: Bool
    /// Seconds by which the service's clock is ahead of ours.
    private(set) var offset: Int64 = 0

    /// - Parameters:
    ///   - isAuthenticated: whether times are received over https, and so come from the service.
    ///   - timeOfDay: seconds since 1970.
    init(isAuthenticated: Bool, _ timeOfDay: @escaping @Sendable () -> Int64) {
        self.isAuthenticated = isAuthenticated
        self.timeOfDay = timeOfDay
    }

    /// The service's time, in seconds since 1970.
    var now: Int64 { timeOfDay() &+ offset }

    /// Our own time, in seconds since 1970.
    var own: Int64 { timeOfDay() }

    /// Restores an offset learned by an earlier process, unless one was learned since.
    ///
    /// - Parameters:
    ///   - offset: seconds by which the service's clock was ahead of ours.
    ///   - time: when that was reported, by our clock. If our clock was never set then, or is not set now, the offset
    ///     is ignored.
    func restore(_ offset: Int64, reportedAt time: Int64) {
        let own = timeOfDay()
        guard self.offset == 0, Self.plausible.contains(time), Self.plausible.contains(own), own >= time else { return }
        _ = learn((OutsideNumber(own) + offset).clamped(to: .min ... .max))
    }

    /// Stores the offset to the service's time.
    ///
    /// - Returns: whether the offset is new and plausible; if not, another attempt would fail likewise.
    func learn(_ time: Int64) -> Bool {
        let own = timeOfDay()
        guard Self.plausible.contains(time) else { return false }
        let ahead = OutsideNumber(time) - own
        guard
            isAuthenticated || !Self.plausible.contains(own)
                || ahead.within(-Self.forgeableLimit...Self.forgeableLimit) != nil,
            // The reply may have been in transit for a second.
            (ahead - offset).within(-1...1) == nil
        else { return false }
        offset = ahead.clamped(to: .min ... .max)
        return true
    }
}
