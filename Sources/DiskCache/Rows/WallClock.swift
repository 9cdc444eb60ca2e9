package import Scheduling

/// The two clocks by which answers grow old: one that counts on while the process lives, and one that outlives it.
package struct WallClock: Sendable {
    /// The boot clock.
    package var now: @Sendable () -> Instant
    /// Seconds since 1970, as far as this machine knows.
    package var secondsSince1970: @Sendable () -> Int64

    package init(now: @escaping @Sendable () -> Instant, secondsSince1970: @escaping @Sendable () -> Int64) {
        self.now = now
        self.secondsSince1970 = secondsSince1970
    }

    /// 2025-01-01, before which nothing of ours was ever stored: a machine without a battery begins in 1970.
    static let earliest: Int64 = 1_735_689_600

    /// A reading of both.
    struct Reading: Equatable, Sendable {
        let now: Instant
        /// In `StoredRange.clock`, so that the age of an answer can be taken from it.
        let secondsSince1970: Int64

        /// Whether the time of day can be believed at all.
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
