import DNSCache
import DNSResolver
import DNSWire
import Scheduling
import TestSupport
import TestUpstreams
import Testing

/// The reasons to doubt this machine's clock, and the effects of the doubt.
@Suite(.onLoop)
struct TimeOfDayTests {
    /// A clock, and what is reported of it.
    @Loop
    final class Watched {
        let day = TestDay()
        let clock = ManualClock()
        private(set) var events: [ResolverEvent] = []
        private(set) lazy var timeOfDay = TimeOfDay(
            released: TestDay.released, clock: clock, secondsSince1970: { [day] in day.seconds },
            report: { [unowned self] in events.append($0) })
    }

    @Test(arguments: [0, TestDay.released - 1]) @Loop
    func `before the release no clock is right, which is reported once, and once more when it is set`(time: Int64) {
        let watched = Watched()
        watched.day.seconds = time
        for _ in 0..<3 { #expect(watched.timeOfDay.doubt == .beforeRelease) }
        watched.day.seconds = TestDay.released
        for _ in 0..<3 { #expect(watched.timeOfDay.doubt == nil) }
        #expect(watched.events == [.clockDoubted(.beforeRelease), .clockTrusted])
    }

    @Test(arguments: [86_400, -86_400]) @Loop
    func `a clock that is further than a day from a service's is doubted until it is set`(limit: Int64) async {
        let watched = Watched()
        watched.timeOfDay.learn(watched.day.seconds + limit, from: "vendor")
        #expect(watched.timeOfDay.doubt == nil)
        let ahead = limit + limit.signum()
        watched.timeOfDay.learn(watched.day.seconds + ahead, from: "vendor")
        #expect(watched.timeOfDay.doubt == .service("vendor", ahead: ahead))
        // Time goes on at the service as well.
        await watched.clock.advance(by: .seconds(100_000))
        watched.day.seconds += 100_000
        #expect(watched.timeOfDay.doubt == .service("vendor", ahead: ahead))
        watched.day.seconds += ahead
        #expect(watched.timeOfDay.doubt == nil)
        #expect(watched.events == [.clockDoubted(.service("vendor", ahead: ahead)), .clockTrusted])
    }

    @Test(arguments: [Int64.max, .min]) @Loop func `no time that a service says breaks anything`(time: Int64) async {
        let watched = Watched()
        watched.timeOfDay.learn(time, from: "vendor")
        await watched.clock.advance(by: .seconds(1))
        _ = watched.timeOfDay.doubt
        watched.timeOfDay.learn(watched.day.seconds, from: "vendor")
        #expect(watched.timeOfDay.doubt == nil)
    }

    private static let given = "203.0.113.9"

    /// A machine whose clock was never set: HTTPDNS's certificates are not valid yet, nor are any others.
    @Loop
    private func machine(
        _ setting: CertificateRule.Setting = .auto, server: FakeHandshake.Server, isSet: Bool = false
    ) throws -> ResolverTests.Machine {
        let machine = ResolverTests.Machine(
            policy: RoutePolicy(protect: [try Name("example.com")]), rule: CertificateRule(setting))
        if !isSet { machine.day.seconds = 12 }
        machine.vendor.behaviour = .failure(.certificate("the certificate is not valid yet"))
        machine.handshake.servers[Self.given] = server
        machine.localDNS.behaviour = .addresses(Self.given, ttl: 600)
        return machine
    }

    private static let early = FakeHandshake.Server(.unclear("the certificate is not valid yet"))

    @Test @Loop func `with an unset clock names resolve for a minute, time servers among them, also listed ones`()
        async throws
    {
        for server in [Self.early, .refusing] {
            let machine = try machine(server: server)
            let reply = await machine.ask("ntp.example.com")
            #expect(reply.has(Self.given) && reply.packed?.longestTTL == 60)
            #expect(machine.events.contains(.clockDoubted(.beforeRelease)))
        }
    }

    @Test @Loop func `once it is set, a listed name needs verification again`() async throws {
        let machine = try machine(server: Self.early, isSet: true)
        #expect(await machine.ask("ntp.example.com").failure == .serverFailure)
    }

    @Test @Loop func `a configured strict is strict, whatever the clock shows`() async throws {
        let machine = try machine(.strict, server: Self.early)
        #expect(await machine.ask("ntp.example.com").failure == .serverFailure)
    }

    @Test @Loop func `a wrong name stays a wrong name, but nothing is recorded while the clock is wrong`()
        async throws
    {
        let machine = try machine(server: .hijacker)
        #expect(await machine.ask("www.example.com").failure == .serverFailure)
        #expect(machine.checks.journal.total == 0)
        let (address, name) = (try #require(IPAddress(Self.given)), try Name("www.example.com"))
        #expect(machine.checks.known(address, for: name) == nil)
        machine.day.seconds = TestDay.released
        await machine.clock.advance(by: .seconds(60))
        #expect(await machine.ask("www.example.com").failure == .serverFailure)
        #expect(machine.checks.journal.total == 1)
        #expect(machine.checks.known(address, for: name) == .forged)
    }
}
