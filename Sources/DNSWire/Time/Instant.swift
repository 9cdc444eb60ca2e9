import Synchronization

/// A point in time: nanoseconds on the boot-time clock (`CLOCK_BOOTTIME`), which counts on through suspend and never
/// jumps.
///
/// Tests choose any origin; only differences are meaningful.
public struct Instant: Comparable, Hashable, Sendable {
    /// Nanoseconds since the origin of the clock that made this instant.
    public var nanoseconds: Int64

    public init(nanoseconds: Int64) { self.nanoseconds = nanoseconds }

    /// Whole seconds since the clock's origin, the unit in which TTLs are counted down.
    public var seconds: UInt32 { UInt32(truncatingIfNeeded: nanoseconds / 1_000_000_000) }

    public static func < (left: Instant, right: Instant) -> Bool { left.nanoseconds < right.nanoseconds }

    /// The instant `duration` later; saturates at the ends of the range.
    public static func + (instant: Instant, duration: Duration) -> Instant {
        let (sum, overflow) = instant.nanoseconds.addingReportingOverflow(duration.nanoseconds)
        guard overflow else { return Instant(nanoseconds: sum) }
        return Instant(nanoseconds: duration > .zero ? .max : .min)
    }

    public static func - (instant: Instant, duration: Duration) -> Instant { instant + (.zero - duration) }

    /// The time from `earlier` to `later`; negative when they are the other way round. Exact: a duration holds more
    /// than the whole range of instants.
    public static func - (later: Instant, earlier: Instant) -> Duration {
        .nanoseconds(later.nanoseconds) - .nanoseconds(earlier.nanoseconds)
    }
}

extension Duration {
    /// The length in nanoseconds, saturated to 64 bits (292 years).
    public var nanoseconds: Int64 { Int64(clamping: attoseconds / 1_000_000_000) }
}

/// A day of the Gregorian calendar, in UTC.
public struct UTCDate: Hashable, Sendable {
    public let year: Int64
    /// 1 to 12.
    public let month: Int64
    /// 1 to 31.
    public let day: Int64

    /// Counted in eras of 400 years that begin on 1 March: the leap day is the last of its year.
    ///
    /// - Parameter days: since 1970-01-01, before it negative.
    public init(daysSince1970 days: Int64) {
        let (era, dayOfEra) = days.flooredDivision(by: 146_097, after: 719_468)
        let yearOfEra = (dayOfEra - dayOfEra / 1_460 + dayOfEra / 36_524 - dayOfEra / 146_096) / 365
        let dayOfYear = dayOfEra - (365 * yearOfEra + yearOfEra / 4 - yearOfEra / 100)
        let monthFromMarch = (5 * dayOfYear + 2) / 153
        month = monthFromMarch < 10 ? monthFromMarch + 3 : monthFromMarch - 9
        day = dayOfYear - (153 * monthFromMarch + 2) / 5 + 1
        year = yearOfEra + era * 400 + (month <= 2 ? 1 : 0)
    }

    /// 28 to 31.
    public var daysInMonth: Int64 {
        switch month {
        case 4, 6, 9, 11: 30
        case 2: year % 4 == 0 && (year % 100 != 0 || year % 400 == 0) ? 29 : 28
        default: 31
        }
    }

    /// Months since January of the year 0: consecutive months have consecutive numbers.
    public var monthNumber: Int64 { year * 12 + month - 1 }
}

extension Int64 {
    /// Quotient and remainder of floor division; the remainder is never negative.
    public func floored(by divisor: Int64) -> (quotient: Int64, remainder: Int64) {
        let (quotient, remainder) = quotientAndRemainder(dividingBy: divisor)
        return remainder < 0 ? (quotient - 1, remainder + divisor) : (quotient, remainder)
    }

    /// Floor division of the number plus an offset, which is not added to the number itself: that could overflow.
    fileprivate func flooredDivision(by divisor: Int64, after offset: Int64) -> (Int64, Int64) {
        let (quotient, remainder) = floored(by: divisor)
        let (more, rest) = (remainder + offset).floored(by: divisor)
        return (quotient + more, rest)
    }
}

/// Counts durations by size. One thread adds, and any may read.
public final class LatencyHistogram: Sendable {
    /// The least bound, in nanoseconds: a hit. Each other one is twice the one before, up to the longest wait of a client.
    private static let least: Int64 = 10_000
    /// The upper bounds of all buckets but the last, ascending: 10 us to 2.6 s.
    public static let bounds: [Duration] = (0..<buckets - 1).map { .nanoseconds(least << Int64($0)) }
    /// Words before and after the counters, a cache line each: another thread's counters are never in the same one.
    private static let margin = 8
    /// One for each bound, and one for what is above all.
    private static let buckets = 20

    private let counts = InlineArray<36, Atomic<Int>> { _ in Atomic(0) }
    private let nanoseconds = Atomic<Int64>(0)

    public init() {}

    /// Adds the time from one instant to another.
    ///
    /// - Parameter count: how many values it stands for.
    public func add(from began: Instant, to now: Instant, count: Int = 1) {
        add(nanoseconds: now.nanoseconds &- began.nanoseconds, count: count)
    }

    /// Adds a duration in nanoseconds; less than 1 counts as 1.
    ///
    /// - Parameter count: how many values it stands for.
    public func add(nanoseconds: Int64, count: Int = 1) {
        let nanoseconds = max(1, nanoseconds)
        // The bound is passed by a factor whose bits number the bucket: no loop, as a hit must always cost the same.
        let passed = UInt64(truncatingIfNeeded: (nanoseconds &- 1) / Self.least)
        let bucket = min(UInt64.bitWidth &- passed.leadingZeroBitCount, Self.buckets &- 1)
        let place = Self.margin &+ bucket
        // No other thread adds, so that this need not be one step.
        counts[place].store(counts[place].load(ordering: .relaxed) &+ count, ordering: .relaxed)
        self.nanoseconds.store(
            self.nanoseconds.load(ordering: .relaxed) &+ nanoseconds &* Int64(count), ordering: .relaxed)
    }

    /// What was counted since the start.
    public var total: Total {
        Total(
            counts: (0..<Self.buckets).map { counts[Self.margin + $0].load(ordering: .relaxed) },
            sum: .nanoseconds(nanoseconds.load(ordering: .relaxed)))
    }

    /// The counts of one or several histograms at one time.
    public struct Total: Equatable, Sendable {
        /// How many values each bucket has, one more than `bounds`.
        public private(set) var counts: [Int]
        /// The sum of all values.
        public private(set) var sum: Duration

        fileprivate init(counts: [Int], sum: Duration) { (self.counts, self.sum) = (counts, sum) }

        /// Of no values.
        public init() { self.init(counts: Array(repeating: 0, count: LatencyHistogram.buckets), sum: .zero) }

        public static func + (left: Total, right: Total) -> Total {
            Total(counts: zip(left.counts, right.counts).map { $0 &+ $1 }, sum: left.sum + right.sum)
        }
    }
}
