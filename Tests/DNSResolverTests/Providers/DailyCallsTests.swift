import DNSResolver
import Testing

@Suite
struct DailyCallsTests {
    /// 2023-11-14, 00:00 UTC.
    private static let midnight: Int64 = 1_699_920_000

    @Test
    func `no call beyond the limit is let through`() {
        var calls = DailyCalls(limit: 3)
        let taken = (0..<5).map { _ in calls.take(at: Self.midnight) }
        #expect(taken == [true, true, true, false, false])
        #expect(calls.count(at: Self.midnight) == 3 && calls.isExhausted(at: Self.midnight))
    }

    @Test
    func `a request that counts as several is let through whole or not at all`() {
        var calls = DailyCalls(limit: 7)
        let taken = [5, 5, 2, 1].map { calls.take($0, at: Self.midnight) }
        #expect(taken == [true, false, true, false] && calls.count(at: Self.midnight) == 7)
        calls.restore(DailyCalls.Record(day: Self.midnight / 86_400, count: .max), at: Self.midnight)
        let more = calls.take(5, at: Self.midnight)
        #expect(!more)
    }

    @Test
    func `a new day begins at midnight UTC`() {
        var calls = DailyCalls(limit: 1)
        #expect(calls.take(at: Self.midnight - 1) == true)
        #expect(calls.take(at: Self.midnight - 1) == false)
        #expect(!calls.isExhausted(at: Self.midnight))
        #expect(calls.take(at: Self.midnight) == true)
    }

    @Test
    func `a clock that is set back allows no calls again`() {
        var calls = DailyCalls(limit: 2)
        _ = calls.take(at: Self.midnight)
        _ = calls.take(at: Self.midnight)
        #expect(calls.take(at: Self.midnight - 86_400) == false)
        // And the day to which it was set back ends as any other.
        #expect(calls.take(at: Self.midnight) == true)
    }

    @Test(arguments: [Int.max, Int.max - 1, 1 << 41, -1, .min])
    func `a count that no day can have stops no calls where there is no limit`(count: Int) {
        var calls = DailyCalls(limit: 0)
        for _ in 0..<3 {
            calls.restore(DailyCalls.Record(day: Self.midnight / 86_400, count: count), at: Self.midnight)
            #expect(calls.take(5, at: Self.midnight) == true)
        }
        #expect(!calls.isExhausted(at: Self.midnight))
    }

    @Test
    func `without a limit calls are counted all the same`() {
        var calls = DailyCalls(limit: 0)
        for _ in 0..<1_000 { _ = calls.take(at: Self.midnight) }
        #expect(calls.count(at: Self.midnight) == 1_000 && !calls.isExhausted(at: Self.midnight))
    }

    @Test
    func `what was counted before a restart counts on the same day, not on the next`() {
        var calls = DailyCalls(limit: 2)
        _ = calls.take(at: Self.midnight)
        let record = calls.record(at: Self.midnight)
        #expect(DailyCalls(limit: 2, record: record).count(at: Self.midnight + 86_399) == 1)
        #expect(DailyCalls(limit: 2, record: record).count(at: Self.midnight + 86_400) == 0)
    }

    @Test
    func `days before 1970 are days too`() {
        var calls = DailyCalls(limit: 1)
        #expect(calls.take(at: -1) == true)
        #expect(calls.take(at: -86_400) == false)
        #expect(calls.take(at: 0) == true)
    }

    @Test
    func `what an earlier process counted is added to what was counted since, and never lost to a wrong clock`() {
        var calls = DailyCalls(limit: 10)
        _ = calls.take(at: Self.midnight)
        calls.restore(.init(day: Self.midnight / 86_400 - 1, count: 5), at: Self.midnight)
        #expect(calls.count(at: Self.midnight) == 1)
        calls.restore(.init(day: Self.midnight / 86_400, count: 5), at: Self.midnight)
        #expect(calls.count(at: Self.midnight) == 6)
        // Counted while the clock was far ahead: this affects one day, not all until then.
        calls.restore(.init(day: .max, count: .max), at: Self.midnight)
        #expect(calls.isExhausted(at: Self.midnight) && !calls.isExhausted(at: Self.midnight + 86_400))
        #expect(calls.take(at: Self.midnight) == false)
    }
}
