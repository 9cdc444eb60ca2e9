import Scheduling
import Testing

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
