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
    func `the last instant is not passed`(duration: Duration) {
        #expect(last + duration == last)
        #expect(last - (.zero - duration) == last)
        #expect(last - .nanoseconds(1) + duration == last)
    }

    @Test(arguments: [Duration.nanoseconds(1), .seconds(1), .seconds(Int64.max)])
    func `the first instant is not passed`(duration: Duration) {
        #expect(first - duration == first)
        #expect(first + (.zero - duration) == first)
        #expect(first + .nanoseconds(1) - duration == first)
    }

    @Test func `the ends are left by the duration that is asked for`() {
        #expect(last - .nanoseconds(3) == Instant(nanoseconds: .max - 3))
        #expect(first + .nanoseconds(3) == Instant(nanoseconds: .min + 3))
    }

    @Test func `the time between two instants is negative when they are the other way round`() {
        let (early, late) = (Instant(nanoseconds: -2), Instant(nanoseconds: 5))
        #expect(late - early == .nanoseconds(7))
        #expect(early - late == .nanoseconds(-7))
    }

    @Test func `the time between the two ends is exact`() {
        #expect(last - first == .nanoseconds(Int64.max) + .nanoseconds(Int64.max) + .nanoseconds(1))
        #expect(first - last == .nanoseconds(Int64.min) - .nanoseconds(Int64.max))
    }

    @Test func `seconds are whole ones, and begin again after 32 bits`() {
        #expect(Instant(nanoseconds: 1_999_999_999).seconds == 1)
        #expect(Instant(nanoseconds: 0xffff_ffff * 1_000_000_000).seconds == .max)
        #expect(Instant(nanoseconds: 0x1_0000_0003 * 1_000_000_000).seconds == 3)
    }
}

struct DurationTests {
    @Test(
        arguments: [
            (.zero, 0), (.milliseconds(1_500), 1_500_000_000), (.milliseconds(-1_500), -1_500_000_000),
            (.milliseconds(-500), -500_000_000),
        ] as [(Duration, Int64)])
    func `a duration is so many nanoseconds`(duration: Duration, nanoseconds: Int64) {
        #expect(duration.nanoseconds == nanoseconds)
    }

    @Test func `parts of a nanosecond are cut off`() {
        #expect(Duration(secondsComponent: 0, attosecondsComponent: 1_999_999_999).nanoseconds == 1)
        #expect(Duration(secondsComponent: 0, attosecondsComponent: -1_999_999_999).nanoseconds == -1)
    }

    @Test func `the longest durations that fit are exact`() {
        #expect(Duration.nanoseconds(Int64.max).nanoseconds == .max)
        #expect(Duration.nanoseconds(Int64.min).nanoseconds == .min)
    }

    @Test(arguments: [Duration.nanoseconds(Int64.max) + .nanoseconds(1), .seconds(Int64.max)])
    func `a longer duration saturates at the upper end`(duration: Duration) {
        #expect(duration.nanoseconds == .max)
    }

    @Test(arguments: [Duration.nanoseconds(Int64.min) - .nanoseconds(1), .seconds(Int64.min)])
    func `a longer negative duration saturates at the lower end`(duration: Duration) {
        #expect(duration.nanoseconds == .min)
    }
}
