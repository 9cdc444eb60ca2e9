import Testing

@testable import Scheduling

/// Durations counted by size.
struct LatencyHistogramTests {
    private typealias Histogram = LatencyHistogram

    @Test func `each duration is in the first bucket whose bound it does not pass`() {
        for (bucket, bound) in Histogram.bounds.enumerated() {
            let histogram = Histogram()
            histogram.add(nanoseconds: bound.nanoseconds)
            histogram.add(nanoseconds: bound.nanoseconds + 1)
            #expect(histogram.total.counts[bucket] == 1 && histogram.total.counts[bucket + 1] == 1, "\(bound)")
        }
    }

    @Test func `one value may stand for many`() {
        let histogram = Histogram()
        histogram.add(nanoseconds: 20_000, count: 64)
        #expect(histogram.total.counts[1] == 64 && histogram.total.sum == .microseconds(1_280))
    }

    @Test func `a clock that goes back takes nothing from the sum`() {
        let histogram = Histogram()
        histogram.add(nanoseconds: -5_000_000)
        #expect(histogram.total.counts[0] == 1 && histogram.total.sum == .nanoseconds(1))
    }

    @Test func `the totals of several are those of all values`() {
        let (first, second) = (Histogram(), Histogram())
        first.add(nanoseconds: 2_000_000)
        second.add(nanoseconds: 3_000_000_000)
        #expect(Histogram.bounds.first == .microseconds(10) && Histogram.bounds.count == 19)
        let sum = Histogram.Total() + first.total + second.total
        #expect(sum.counts.reduce(0, +) == 2 && sum.counts.last == 1 && sum.sum == .milliseconds(3_002))
    }
}
