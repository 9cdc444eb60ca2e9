import DNSWire
import Testing

@testable import DNSResolver
@testable import Upstreams

struct CallQuotaTests {
    /// 2026-03-01, 00:00 UTC, in seconds since 1970.
    private static let march: Int64 = 1_772_323_200

    private func spent(_ calls: Int, daily: Int, monthly: Int = 0, at time: Int64) -> CallQuota {
        var quota = CallQuota(dailyLimit: daily, monthlyLimit: monthly)
        for _ in 0..<calls { _ = quota.take(at: time) }
        return quota
    }

    @Test(
        arguments: [
            (499, 0, .max), (500, 0, 500), (750, 0, 250), (1_000, 0, 0), (500, 43_200, 750), (750, 86_399, 749),
        ] as [(Int, Int64, Int)])
    func `a client network may have what is left, and of the second half the part of the day that has passed`(
        calls: Int, seconds: Int64, share: Int
    ) {
        let time = Self.march + seconds
        #expect(spent(calls, daily: 1_000, at: time).share(at: time) == share)
    }

    @Test func `of the limits of a day and a month the narrower counts`() {
        #expect(spent(600, daily: 1_000, monthly: 700, at: Self.march).share(at: Self.march) == 100)
        #expect(spent(600, daily: 0, monthly: 700, at: Self.march).share(at: Self.march) == 100)
        #expect(spent(600, daily: 0, at: Self.march).share(at: Self.march) == nil)
    }

    /// Calls in each hour of a day, as a household of one address makes them.
    private static let household = [
        20, 5, 0, 0, 0, 5, 60, 250, 180, 90, 80, 100, 160, 120, 90, 90, 140, 260, 420, 560, 620, 640, 480, 230,
    ]

    @Test(arguments: [4_600, 5_000, 8_000])
    func `a day's ordinary traffic of one network is never beyond its share`(limit: Int) {
        var (quota, shares, refused) = (CallQuota(dailyLimit: limit), CallShares(), 0)
        // Beside another one.
        _ = shares.refuses(ClientNetwork(.v4(9)), share: .max, at: Instant(nanoseconds: 0))
        for (hour, calls) in Self.household.enumerated() {
            for index in 0..<calls {
                let time = Self.march + Int64(hour * 3_600 + index * 3_600 / calls)
                let share = quota.share(at: time) ?? .max
                if shares.refuses(.daemon, share: share, at: Instant(nanoseconds: 1)) {
                    refused += 1
                } else {
                    _ = quota.take(at: time)
                }
            }
        }
        #expect(refused == 0)
    }

    @Test func `a flood at the beginning of the day leaves calls to later networks`() {
        var (quota, shares) = (CallQuota(dailyLimit: 1_000), CallShares())
        _ = shares.refuses(ClientNetwork(.v4(2)), share: .max, at: Instant(nanoseconds: 0))
        func answered(_ network: ClientNetwork, _ count: Int) -> Int {
            (0..<count).count { _ in
                let share = quota.share(at: Self.march) ?? .max
                return !shares.refuses(network, share: share, at: Instant(nanoseconds: 1)) && quota.take(at: Self.march)
            }
        }
        #expect(answered(ClientNetwork(.v4(1)), 1_500) == 750)
        #expect(answered(ClientNetwork(.v4(2)), 20) == 20)
        #expect(answered(ClientNetwork(.v4(3)), 20) == 20)
    }

    /// 2023-11-14, 00:00 UTC.
    private static let midnight: Int64 = 1_699_920_000
    private static let secondsPerDay: Int64 = 86_400
    /// 2023-12-01, 00:00 UTC.
    private static let december = midnight + 17 * secondsPerDay

    private static func record(day: Int64, calls: Int, month: Int64 = .min, ofMonth: Int = 0) -> CallQuota.Record {
        CallQuota.Record(
            day: CallCount(period: day, calls: calls), month: CallCount(period: month, calls: ofMonth), since: nil)
    }

    @Test func `no call beyond the limit of a day is let through`() {
        var calls = CallQuota(dailyLimit: 3)
        let taken = (0..<5).map { _ in calls.take(at: Self.midnight) }
        #expect(taken == [true, true, true, false, false])
        #expect(calls.count(.day, at: Self.midnight).calls == 3 && calls.exhausted(at: Self.midnight) == .day)
    }

    @Test func `no call beyond the limit of a month is let through until the next month`() {
        var calls = CallQuota(dailyLimit: 2, monthlyLimit: 3)
        let days = [0, 0, 0, 1, 1].map { Self.midnight + $0 * Self.secondsPerDay }
        #expect(days.map { calls.take(at: $0) } == [true, true, false, true, false])
        #expect(calls.exhausted(at: Self.december - 1) == .month)
        #expect(calls.exhausted(at: Self.december) == nil)
        let isTaken = calls.take(at: Self.december)
        #expect(isTaken && calls.count(.month, at: Self.december).calls == 1)
    }

    @Test func `a new day begins at midnight UTC`() {
        var calls = CallQuota(dailyLimit: 1)
        #expect(calls.take(at: Self.midnight - 1) == true)
        #expect(calls.take(at: Self.midnight - 1) == false)
        #expect(calls.exhausted(at: Self.midnight) == nil)
        #expect(calls.take(at: Self.midnight) == true)
    }

    @Test func `a clock that is set back allows no calls again`() {
        var calls = CallQuota(dailyLimit: 2, monthlyLimit: 3)
        _ = calls.take(at: Self.december)
        _ = calls.take(at: Self.december)
        #expect(calls.take(at: Self.december - Self.secondsPerDay) == false)
        // And the day to which it was set back ends as any other; the month too.
        #expect(calls.take(at: Self.december) == true)
        #expect(calls.count(.month, at: Self.december).calls == 1)
    }

    @Test(arguments: [false, true])
    func `where the clock is not set yet after a restart, the counts go on`(isAskedBefore: Bool) {
        // Two years later: a clock that shows a day before 2025 is not set.
        let midnight = Self.midnight + 730 * Self.secondsPerDay
        let unset: Int64 = 100
        var before = CallQuota(dailyLimit: 10, monthlyLimit: 100)
        for _ in 0..<9 { _ = before.take(at: midnight) }
        var calls = CallQuota(dailyLimit: 10, monthlyLimit: 100)
        if isAskedBefore { _ = calls.take(at: unset) }
        calls.restore(before.record(at: midnight), at: unset)
        if !isAskedBefore { #expect(calls.take(at: unset) == true) }
        #expect(calls.take(at: unset) == false)
        #expect(calls.record(at: unset).day == CallCount(period: midnight / Self.secondsPerDay, calls: 10))
        #expect(calls.takeEndedDay() == nil)
        #expect(calls.exhausted(at: midnight + 60) == .day)
        let nextDay = midnight + Self.secondsPerDay
        #expect(calls.count(.day, at: nextDay).calls == 0 && calls.count(.month, at: nextDay).calls == 10)
    }

    @Test(arguments: [Int.max, Int.max - 1, 1 << 41, -1, .min])
    func `a count that no day can have stops no calls where there is no limit`(count: Int) {
        var calls = CallQuota(dailyLimit: 0)
        for _ in 0..<3 {
            calls.restore(Self.record(day: .max, calls: count, month: .max, ofMonth: count), at: Self.midnight)
            #expect(calls.take(at: Self.midnight) == true)
        }
        #expect(calls.exhausted(at: Self.midnight) == nil)
    }

    @Test func `what was counted before a restart counts in the same day and month, not in the next`() {
        var calls = CallQuota(dailyLimit: 2)
        _ = calls.take(at: Self.midnight)
        let record = calls.record(at: Self.midnight)
        func restored(at time: Int64) -> CallQuota {
            var calls = CallQuota(dailyLimit: 2)
            calls.restore(record, at: time)
            return calls
        }
        let (today, tomorrow) = (Self.midnight + 86_399, Self.midnight + 86_400)
        #expect(restored(at: today).count(.day, at: today).calls == 1)
        #expect(restored(at: tomorrow).count(.day, at: tomorrow).calls == 0)
        #expect(restored(at: tomorrow).count(.month, at: tomorrow).calls == 1)
        #expect(restored(at: Self.december).count(.month, at: Self.december).calls == 0)
    }

    @Test func `days before 1970 are days too`() {
        var calls = CallQuota(dailyLimit: 1)
        #expect(calls.take(at: -1) == true)
        #expect(calls.take(at: -86_400) == false)
        #expect(calls.take(at: 0) == true)
    }

    @Test func `what an earlier process counted is added to what was counted since, and never lost to a wrong clock`() {
        var calls = CallQuota(dailyLimit: 10)
        _ = calls.take(at: Self.midnight)
        let day = Self.midnight / Self.secondsPerDay
        calls.restore(Self.record(day: day - 1, calls: 5), at: Self.midnight)
        #expect(calls.count(.day, at: Self.midnight).calls == 1)
        calls.restore(Self.record(day: day, calls: 5), at: Self.midnight)
        #expect(calls.count(.day, at: Self.midnight).calls == 6)
        // Counted while the clock was far ahead: this affects one day, not all until then.
        calls.restore(Self.record(day: .max, calls: .max), at: Self.midnight)
        #expect(calls.exhausted(at: Self.midnight) == .day)
        #expect(calls.exhausted(at: Self.midnight + Self.secondsPerDay) == nil)
        #expect(calls.take(at: Self.midnight) == false)
    }

    @Test func `the first call beyond four fifths of a limit is said, once`() {
        var calls = CallQuota(dailyLimit: 10, monthlyLimit: 15)
        var near: [CallPeriod?] = []
        for number in 0..<14 {
            let time = Self.midnight + (number < 9 ? 0 : Self.secondsPerDay)
            _ = calls.take(at: time)
            near.append(calls.nearsLimit(at: time))
        }
        #expect(near.firstIndex(of: .day) == 7 && near.lastIndex(of: .day) == 7)
        #expect(near.firstIndex(of: .month) == 11 && near.lastIndex(of: .month) == 11)
    }

    @Test func `the forecast is for the whole month, from the mean since counting began`() {
        var calls = CallQuota(dailyLimit: 0)
        #expect(calls.forecast(at: Self.midnight) == nil)
        for hour in 0..<48 {
            _ = calls.take(at: Self.midnight + Int64(hour) * 3_600)
            calls.bill(5, at: Self.midnight + Int64(hour) * 3_600)
        }
        let later = Self.midnight + 2 * Self.secondsPerDay
        #expect(calls.forecast(at: later)?.calls == 17 * 24)
        #expect(calls.forecast(at: later)?.billed == 17 * 24 * 5)
    }

    @Test func `the forecast goes on after a restart, and a senseless beginning is ignored`() {
        var calls = CallQuota(dailyLimit: 0)
        for _ in 0..<10 { _ = calls.take(at: Self.midnight) }
        var record = calls.record(at: Self.midnight)
        let later = Self.midnight + Self.secondsPerDay
        for (since, forecast) in [(record.since, 170), (.min, nil), (.max, nil)] as [(Int64?, Int?)] {
            var restarted = CallQuota(dailyLimit: 0)
            record.since = since
            restarted.restore(record, at: later)
            #expect(restarted.forecast(at: later)?.calls == forecast)
        }
    }

    @Test func `a day that has ended is given once, with its month and what was foreseen`() throws {
        var calls = CallQuota(dailyLimit: 0)
        for hour in 0..<24 {
            _ = calls.take(at: Self.midnight + Int64(hour) * 3_600)
            calls.bill(5, at: Self.midnight + Int64(hour) * 3_600)
        }
        let early = calls.takeEndedDay()
        #expect(early == nil)
        _ = calls.take(at: Self.midnight + Self.secondsPerDay)
        let taken = calls.takeEndedDay()
        let ended = try #require(taken)
        #expect((ended.day.calls, ended.day.billed) == (24, 120))
        #expect((ended.month.calls, ended.month.billed) == (24, 120))
        #expect(ended.forecast.map { (400...415).contains($0.calls) } == true)
        _ = calls.take(at: Self.midnight + Self.secondsPerDay + 1)
        let again = calls.takeEndedDay()
        #expect(again == nil)
    }

    @Test func `a day that ended while no process ran is given after the restart`() {
        var first = CallQuota(dailyLimit: 0)
        _ = first.take(at: Self.midnight)
        var second = CallQuota(dailyLimit: 0)
        second.restore(first.record(at: Self.midnight), at: Self.midnight + Self.secondsPerDay)
        let ended = second.takeEndedDay()
        #expect(ended?.day.calls == 1)
        var third = CallQuota(dailyLimit: 0)
        third.restore(first.record(at: Self.midnight), at: Self.midnight + 5)
        let none = third.takeEndedDay()
        #expect(none == nil)
    }

    @Test func `what others leave of a limit holds in its period, and narrows the limit of this server alone`() {
        var calls = CallQuota(dailyLimit: 10)
        let day = Self.midnight / Self.secondsPerDay
        calls.allow(CallQuota.Allowance(number: day, left: 0, isFinal: false), in: .day)
        #expect(calls.exhausted(at: Self.midnight) == .day && !calls.isFinal(.day, at: Self.midnight))
        #expect(calls.exhausted(at: Self.midnight + Self.secondsPerDay) == nil)
        calls.allow(CallQuota.Allowance(number: day, left: 100, isFinal: true), in: .day)
        let taken = (0..<20).count { _ in calls.take(at: Self.midnight) }
        #expect(taken == 10)
        #expect(calls.isFinal(.day, at: Self.midnight))
    }

    @Test func `what is billed is counted beside the calls, for the day and the month`() {
        var calls = CallQuota(dailyLimit: 0)
        _ = calls.take(at: Self.midnight)
        calls.bill(10, at: Self.midnight)
        calls.bill(5, at: Self.midnight + Self.secondsPerDay)
        #expect(calls.count(.day, at: Self.midnight + Self.secondsPerDay).billed == 5)
        #expect(calls.count(.month, at: Self.midnight + Self.secondsPerDay).billed == 15)
        #expect(calls.count(.month, at: Self.midnight + Self.secondsPerDay).calls == 1)
    }
}
