import DNSResolver
import HTTPDNS
import Scheduling
import TestSupport
import Testing

@testable import Upstreams

@Suite(.onLoop)
struct ProviderClockTests {
    private static let today: Int64 = 1_800_000_000
    private static let hour: Int64 = 3_600

    @Loop
    private func clock(isAuthenticated: Bool = false, own: Int64 = today) -> ProviderClock {
        ProviderClock(isAuthenticated: isAuthenticated) { own }
    }

    @Test(arguments: [-3, 3]) @Loop
    func `a machine three hours wrong goes by the service's time`(hours: Int64) {
        let clock = clock(own: Self.today + hours * Self.hour)
        #expect(clock.learn(Self.today))
        #expect(clock.now == Self.today && clock.offset == -hours * Self.hour)
    }

    @Test @Loop
    func `the same time again is no news: nothing is asked a third time`() {
        let clock = clock(own: Self.today - Self.hour)
        #expect(clock.learn(Self.today))
        #expect(!clock.learn(Self.today + 1))
    }

    @Test(arguments: [0, -1, 1_000_000_000, 4_200_000_000, Int64.max, Int64.min]) @Loop
    func `a time that is impossible is not accepted, not even with a certificate`(time: Int64) {
        let clock = clock(isAuthenticated: true)
        #expect(!clock.learn(time))
        #expect(clock.offset == 0)
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

    @Test @Loop
    func `over plain http a forger cannot move the time by more than two days`() {
        for days: Int64 in [-30, -3, 3, 30, 3_650] {
            let clock = clock()
            #expect(!clock.learn(Self.today + days * 24 * Self.hour))
            #expect(clock.offset == 0)
        }
        #expect(clock().learn(Self.today + 47 * Self.hour))
    }

    @Test @Loop
    func `with a certificate the service may give any time`() {
        #expect(clock(isAuthenticated: true).learn(Self.today + 90 * 24 * Self.hour))
    }

    @Test @Loop
    func `a clock that was never set accepts what it receives`() {
        let clock = clock(own: 100)
        #expect(clock.learn(Self.today))
        #expect(clock.now == Self.today)
    }

    @Test @Loop
    func `a forged time is corrected by the next true time`() {
        let clock = clock()
        #expect(clock.learn(Self.today - 40 * Self.hour))
        #expect(clock.learn(Self.today))
        #expect(clock.offset == 0)
    }

    @Test @Loop
    func `what was learned before a restart counts until something is learned again`() {
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
