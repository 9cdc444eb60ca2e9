import Scheduling

/// The time of day as a service sees it: ours, corrected by what the service told of its own.
@Loop
final class ServiceClock {
    private let timeOfDay: @Sendable () -> Int64
    /// Seconds by which the service is ahead of us.
    private(set) var offset: Int64 = 0

    init(_ timeOfDay: @escaping @Sendable () -> Int64) { self.timeOfDay = timeOfDay }

    /// Seconds since 1970, for the service.
    var now: Int64 { timeOfDay() &+ offset }

    /// Remembers what time it is at the service.
    ///
    /// - Returns: whether that is news; if not, another attempt would fail alike.
    func learn(_ time: Int64) -> Bool {
        let (ahead, overflow) = time.subtractingReportingOverflow(timeOfDay())
        // A second is how long the reply may have been on its way.
        guard !overflow, abs(ahead.subtractingReportingOverflow(offset).partialValue) > 1 else { return false }
        offset = ahead
        return true
    }
}
