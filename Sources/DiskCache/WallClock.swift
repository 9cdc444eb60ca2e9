public import DNSWire

/// The two clocks of answers' ages: the boot clock, used while the process runs, and the time of day, used across
/// restarts.
public struct WallClock: Sendable {
    /// The boot clock.
    public var now: @Sendable () -> Instant
    /// Seconds since 1970, by the system clock.
    public var secondsSince1970: @Sendable () -> Int64

    public init(now: @escaping @Sendable () -> Instant, secondsSince1970: @escaping @Sendable () -> Int64) {
        self.now = now
        self.secondsSince1970 = secondsSince1970
    }

    /// 2025-01-01, before any answer was ever stored: a machine without a battery starts in 1970.
    static let earliest: Int64 = 1_735_689_600
    /// Seconds since 1970 that a clock of Linux can show: it ends after 2^63 nanoseconds, in 2262.
    static let range: ClosedRange<Int64> = 0...9_223_372_036
    /// Times of storing, in seconds since 1970; any other one in a file is damage. The first is as long before 1970 as the
    /// greatest age of an answer in memory.
    static let times: ClosedRange<Int64> = -(Int64(1) << 31)...range.upperBound

    /// A reading of both clocks.
    struct Reading: Equatable, Sendable {
        let now: Instant
        /// Limited to `WallClock.range`, so that the age of an answer can be computed from it.
        let secondsSince1970: Int64

        /// Whether the time of day is plausible.
        var isPlausible: Bool { secondsSince1970 >= WallClock.earliest }

        /// Whole seconds since an earlier reading, by the boot clock.
        func seconds(since earlier: Reading) -> Int64 { (now - earlier.now).components.seconds }
    }

    var reading: Reading {
        Reading(
            now: now(), secondsSince1970: min(max(secondsSince1970(), Self.range.lowerBound), Self.range.upperBound))
    }
}
