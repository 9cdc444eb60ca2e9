/// A point in time: nanoseconds on the boot-time clock (`CLOCK_BOOTTIME`), which counts on through suspend and never
/// jumps.
///
/// Tests choose any origin; only differences are meaningful.
@frozen
package struct Instant: Comparable, Hashable, Sendable {
    /// Nanoseconds since the origin of the clock that made this instant.
    package var nanoseconds: Int64

    @inlinable
    package init(nanoseconds: Int64) { self.nanoseconds = nanoseconds }

    /// Whole seconds since the clock's origin, the unit in which TTLs are counted down.
    @inlinable
    package var seconds: UInt32 { UInt32(truncatingIfNeeded: nanoseconds / 1_000_000_000) }

    @inlinable
    package static func < (left: Instant, right: Instant) -> Bool { left.nanoseconds < right.nanoseconds }

    /// The instant `duration` later; saturates at the ends of the range.
    package static func + (instant: Instant, duration: Duration) -> Instant {
        let (sum, overflow) = instant.nanoseconds.addingReportingOverflow(duration.nanoseconds)
        guard overflow else { return Instant(nanoseconds: sum) }
        return Instant(nanoseconds: duration > .zero ? .max : .min)
    }

    package static func - (instant: Instant, duration: Duration) -> Instant { instant + (.zero - duration) }

    /// The time from `earlier` to `later`; negative when they are the other way round. Exact: a duration holds more
    /// than the whole range of instants.
    package static func - (later: Instant, earlier: Instant) -> Duration {
        .nanoseconds(later.nanoseconds) - .nanoseconds(earlier.nanoseconds)
    }
}

extension Duration {
    /// The length in nanoseconds, saturated to 64 bits (292 years).
    package var nanoseconds: Int64 { Int64(clamping: attoseconds / 1_000_000_000) }
}
