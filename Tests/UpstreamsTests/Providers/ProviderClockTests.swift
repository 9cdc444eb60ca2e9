import DNSResolver
import DNSWire
import HTTPDNS
import TestSupport
import Testing

@testable import Upstreams

@Suite(.onLoop) struct ProviderClockTests {
    private static let today: Int64 = 1_800_000_000
    private static let hour: Int64 = 3_600

    @Loop private func clock(isAuthenticated: Bool = false, own: Int64 = today) -> ProviderClock {
        ProviderClock(isAuthenticated: isAuthenticated) { own }
    }

    @Test(
        arguments: [
            // Three hours wrong.
            (false, Self.today + 3 * Self.hour, Self.today, true),
            (false, Self.today - 3 * Self.hour, Self.today, true),
            // Over plain http a forger cannot move the time by more than two days.
            (false, Self.today, Self.today + 47 * Self.hour, true),
            (false, Self.today, Self.today + 72 * Self.hour, false),
            (false, Self.today, Self.today - 72 * Self.hour, false),
            (false, Self.today, Self.today + 87_600 * Self.hour, false),
            // With a certificate the service may give any time that is possible.
            (true, Self.today, Self.today + 2_160 * Self.hour, true), (true, Self.today, 0, false),
            (true, Self.today, 1_000_000_000, false),
            (true, Self.today, 4_200_000_000, false), (true, Self.today, .max, false), (true, Self.today, .min, false),
            // A clock that was never set.
            (false, 100, Self.today, true),
        ] as [(Bool, Int64, Int64, Bool)]) @Loop
    func `a service's time is learned where it is likelier than ours`(
        isAuthenticated: Bool, own: Int64, time: Int64, isLearned: Bool
    ) {
        let clock = clock(isAuthenticated: isAuthenticated, own: own)
        #expect(clock.learn(time) == isLearned)
        #expect(clock.now == (isLearned ? time : own))
    }

    @Test @Loop func `the same time again is no news: nothing is asked a third time`() {
        let clock = clock(own: Self.today - Self.hour)
        #expect(clock.learn(Self.today))
        #expect(!clock.learn(Self.today + 1))
    }

    @Test(arguments: [true, false]) @Loop
    func `the time in a reply is evidence against this machine's clock only if it came over https`(isHTTPS: Bool) {
        let account = ProviderAccount(
            provider: "vendor", clock: clock(isAuthenticated: isHTTPS), calls: CallQuota(dailyLimit: 0),
            report: { _ in })
        var signs: [TimeOfDay.Sign] = []
        account.onSign = { signs.append($0) }
        account.noteTime(of: HTTPResponse(status: 200, date: Self.today))
        #expect(signs == (isHTTPS ? [.reply(Self.today)] : []))
    }

    @Test @Loop
    func `a reply that was in an HTTP cache is no evidence against this machine's clock, and one of age 0 is`() {
        let account = ProviderAccount(
            provider: "vendor", clock: clock(isAuthenticated: true), calls: CallQuota(dailyLimit: 0), report: { _ in })
        var signs: [TimeOfDay.Sign] = []
        account.onSign = { signs.append($0) }
        account.noteTime(of: HTTPResponse(status: 200, age: 100_000, date: Self.today - 100_000))
        #expect(signs == [.reply(nil)])
        account.noteTime(of: HTTPResponse(status: 200, age: 0, date: Self.today))
        #expect(signs == [.reply(nil), .reply(Self.today)])
    }

    @Test @Loop func `a forged time is corrected by the next true time`() {
        let clock = clock()
        #expect(clock.learn(Self.today - 40 * Self.hour))
        #expect(clock.learn(Self.today))
        #expect(clock.offset == 0)
    }

    @Test @Loop func `what was learned before a restart counts until something is learned again`() {
        let clock = clock(isAuthenticated: true)
        clock.restore(Self.hour, reportedAt: Self.today - 100)
        #expect(clock.offset == Self.hour)
        clock.restore(2 * Self.hour, reportedAt: Self.today - 100)
        #expect(clock.offset == Self.hour)
    }

    @Test(
        arguments: [(Self.today, 100), (100, 50), (Self.today, Self.today + 1), (100, Self.today)] as [(Int64, Int64)])
    @Loop
    func `an offset is not used when one of the clocks was never set, or ours was set back`(own: Int64, reported: Int64)
    {
        let clock = clock(isAuthenticated: true, own: own)
        clock.restore(Self.hour, reportedAt: reported)
        #expect(clock.offset == 0)
    }

    @Test(arguments: [.max, .min, 2_592_000] as [Int64]) @Loop
    func `an offset that is impossible is not restored`(offset: Int64) {
        let clock = clock()
        clock.restore(offset, reportedAt: Self.today)
        #expect(clock.offset == 0)
    }
}
