package import Scheduling

/// The two clocks of answers' ages: the boot clock, used while the process runs, and the time of day, used across
/// restarts.
package struct WallClock: Sendable {
    /// The boot clock.
    package var now: @Sendable () -> Instant
    /// Seconds since 1970, by the system clock.
    package var secondsSince1970: @Sendable () -> Int64

    package init(now: @escaping @Sendable () -> Instant, secondsSince1970: @escaping @Sendable () -> Int64) {
        self.now = now
        self.secondsSince1970 = secondsSince1970
    }

    /// 2025-01-01, before any answer was ever stored: a machine without a battery starts in 1970.
    static let earliest: Int64 = 1_735_689_600

    /// A reading of both clocks.
    struct Reading: Equatable, Sendable {
        let now: Instant
        /// Limited to `StoredRange.clock`, so that the age of an answer can be computed from it.
        let secondsSince1970: Int64

        /// Whether the time of day is plausible.
        var isPlausible: Bool { secondsSince1970 >= WallClock.earliest }

        /// Whole seconds since an earlier reading, by the boot clock.
        func seconds(since earlier: Reading) -> Int64 { (now - earlier.now).components.seconds }
    }

    var reading: Reading {
        let range = StoredRange.clock
        return Reading(
            now: now(), secondsSince1970: min(max(secondsSince1970(), range.lowerBound), range.upperBound))
    }
}
