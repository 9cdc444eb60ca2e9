import Testing

@testable import DNSWire

struct InstantTests {
    private let first = Instant(nanoseconds: .min)
    private let last = Instant(nanoseconds: .max)

    @Test func `a duration moves an instant to and fro`() {
        let instant = Instant(nanoseconds: 5_000_000_000)
        #expect(instant + .milliseconds(1_500) == Instant(nanoseconds: 6_500_000_000))
        #expect(instant - .milliseconds(1_500) == Instant(nanoseconds: 3_500_000_000))
        #expect(instant + .seconds(-6) == Instant(nanoseconds: -1_000_000_000))
    }

    @Test(arguments: [Duration.nanoseconds(1), .seconds(1), .seconds(Int64.max)])
    func `the first and the last instant are not passed, from any side`(duration: Duration) {
        #expect(last + duration == last && last - (.zero - duration) == last)
        #expect(last - .nanoseconds(1) + duration == last && last - .nanoseconds(3) == Instant(nanoseconds: .max - 3))
        #expect(first - duration == first && first + (.zero - duration) == first)
        #expect(first + .nanoseconds(1) - duration == first)
        #expect(first + .nanoseconds(3) == Instant(nanoseconds: .min + 3))
    }

    @Test func `the time between two instants is exact, and negative when they are the other way round`() {
        let (early, late) = (Instant(nanoseconds: -2), Instant(nanoseconds: 5))
        #expect(late - early == .nanoseconds(7) && early - late == .nanoseconds(-7))
        #expect(last - first == .nanoseconds(Int64.max) + .nanoseconds(Int64.max) + .nanoseconds(1))
        #expect(first - last == .nanoseconds(Int64.min) - .nanoseconds(Int64.max))
    }

    @Test func `seconds are whole ones, and begin again after 32 bits`() {
        #expect(Instant(nanoseconds: 1_999_999_999).seconds == 1)
        #expect(Instant(nanoseconds: 0xffff_ffff * 1_000_000_000).seconds == .max)
        #expect(Instant(nanoseconds: 0x1_0000_0003 * 1_000_000_000).seconds == 3)
    }

    @Test(
        arguments: [
            (.zero, 0), (.milliseconds(1_500), 1_500_000_000), (.milliseconds(-1_500), -1_500_000_000),
            (Duration(secondsComponent: 0, attosecondsComponent: 1_999_999_999), 1),
            (Duration(secondsComponent: 0, attosecondsComponent: -1_999_999_999), -1),
            (.nanoseconds(Int64.max), .max), (.nanoseconds(Int64.min), .min),
            (.nanoseconds(Int64.max) + .nanoseconds(1), .max), (.seconds(Int64.max), .max),
            (.nanoseconds(Int64.min) - .nanoseconds(1), .min), (.seconds(Int64.min), .min),
        ] as [(Duration, Int64)])
    func `a duration is so many whole nanoseconds, up to the ends of their range`(
        duration: Duration, nanoseconds: Int64
    ) {
        #expect(duration.nanoseconds == nanoseconds)
    }
}

struct UTCDateTests {
    @Test(arguments: [
        (0, 1970, 1, 1, 31), (-1, 1969, 12, 31, 31), (11_016, 2000, 2, 29, 29), (19_675, 2023, 11, 14, 30),
        (-25_509, 1900, 2, 28, 28),
    ])
    func `a number of days is a date, in a month of so many days`(
        days: Int64, year: Int64, month: Int64, day: Int64, length: Int64
    ) {
        let date = UTCDate(daysSince1970: days)
        #expect(date.year == year && date.month == month && date.day == day && date.daysInMonth == length)
    }

    @Test func `each day is the next of its month, or the first of the month with the next number`() {
        var date = UTCDate(daysSince1970: -200_000)
        for days in Int64(-199_999)...200_000 {
            let next = UTCDate(daysSince1970: days)
            if next.day == 1 {
                #expect(date.day == date.daysInMonth && next.monthNumber == date.monthNumber + 1)
            } else {
                #expect(next.day == date.day + 1 && next.monthNumber == date.monthNumber)
            }
            date = next
        }
    }

    @Test(arguments: [Int64.min, .max])
    func `no number of days overflows`(days: Int64) {
        #expect((1...12).contains(UTCDate(daysSince1970: days).month))
    }
}

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
