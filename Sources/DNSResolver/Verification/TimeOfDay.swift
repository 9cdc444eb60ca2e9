import DNSWire
package import Scheduling

/// This host's time of day, and whether it can be right.
///
/// It cannot be before this version was released, nor differ by more than a day from the time that a service gives over
/// HTTPS. A time given over plain HTTP may be forged by anything on the path, and is ignored here.
@Loop
package final class TimeOfDay {
    /// Seconds by which a service's time may differ.
    package nonisolated static let tolerance: Int64 = 86_400

    /// Seconds since 1970 at the release of this version.
    private let released: Int64
    private let clock: any LoopClock
    private let secondsSince1970: @Sendable () -> Int64
    private let report: @Loop (ResolverEvent) -> Void
    /// The time that a service gave last, and when.
    private var learned: (provider: String, time: Int64, at: Instant)?
    private var isReported = false

    /// - Parameters:
    ///   - released: seconds since 1970 before which no clock can be right.
    ///   - clock: monotonic: it is not affected when the time of day is set.
    ///   - report: called when a doubt begins and when it ends.
    package nonisolated init(
        released: Int64, clock: any LoopClock, secondsSince1970: @escaping @Sendable () -> Int64,
        report: @escaping @Loop (ResolverEvent) -> Void
    ) {
        self.released = released
        self.clock = clock
        self.secondsSince1970 = secondsSince1970
        self.report = report
    }

    /// Records the time that a service gave over HTTPS, in seconds since 1970.
    package func learn(_ time: Int64, from provider: String) {
        learned = (provider, time, clock.now)
        _ = doubt
    }

    /// Why the clock cannot be right; nil without a reason. Computed each time: a clock can be set at any moment.
    package var doubt: ClockDoubt? {
        let doubt = presentDoubt
        if isReported != (doubt != nil) {
            isReported = doubt != nil
            report(doubt.map { .clockDoubted($0) } ?? .clockTrusted)
        }
        return doubt
    }

    private var presentDoubt: ClockDoubt? {
        let own = secondsSince1970()
        if own < released { return .beforeRelease }
        guard let learned else { return nil }
        let ahead = OutsideNumber(learned.time) + (clock.now - learned.at).components.seconds - own
        guard ahead.within(-Self.tolerance...Self.tolerance) == nil else { return nil }
        return .service(learned.provider, ahead: ahead.clamped(to: .min ... .max))
    }
}
