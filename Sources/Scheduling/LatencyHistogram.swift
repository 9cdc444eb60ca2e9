import Synchronization

/// Counts durations by size. One thread adds, and any may read.
package final class LatencyHistogram: Sendable {
    /// The least bound, in nanoseconds: a hit. Each other one is twice the one before, up to the longest wait of a client.
    private static let least: Int64 = 10_000
    /// The upper bounds of all buckets but the last, ascending: 10 us to 2.6 s.
    package static let bounds: [Duration] = (0..<buckets - 1).map { .nanoseconds(least << Int64($0)) }
    /// Words before and after the counters, a cache line each: another thread's counters are never in the same one.
    private static let margin = 8
    /// One for each bound, and one for what is above all.
    private static let buckets = 20

    private let counts = InlineArray<36, Atomic<Int>> { _ in Atomic(0) }
    private let nanoseconds = Atomic<Int64>(0)

    package init() {}

    /// Adds the time from one instant to another.
    ///
    /// - Parameter count: how many values it stands for.
    package func add(from began: Instant, to now: Instant, count: Int = 1) {
        add(nanoseconds: now.nanoseconds &- began.nanoseconds, count: count)
    }

    /// Adds a duration in nanoseconds; less than 1 counts as 1.
    ///
    /// - Parameter count: how many values it stands for.
    package func add(nanoseconds: Int64, count: Int = 1) {
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
    package var total: Total {
        Total(
            counts: (0..<Self.buckets).map { counts[Self.margin + $0].load(ordering: .relaxed) },
            sum: .nanoseconds(nanoseconds.load(ordering: .relaxed)))
    }

    /// The counts of one or several histograms at one time.
    package struct Total: Equatable, Sendable {
        /// How many values each bucket has, one more than `bounds`.
        package private(set) var counts: [Int]
        /// The sum of all values.
        package private(set) var sum: Duration

        fileprivate init(counts: [Int], sum: Duration) { (self.counts, self.sum) = (counts, sum) }

        /// Of no values.
        package init() { self.init(counts: Array(repeating: 0, count: LatencyHistogram.buckets), sum: .zero) }

        package static func + (left: Total, right: Total) -> Total {
            Total(counts: zip(left.counts, right.counts).map { $0 &+ $1 }, sum: left.sum + right.sum)
        }
    }
}
