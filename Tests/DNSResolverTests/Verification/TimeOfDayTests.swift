import DNSCache
import DNSResolver
import DNSWire
import TestSupport
import TestUpstreams
import Testing

/// The reasons to doubt this machine's clock, and the effects of the doubt.
@Suite(.onLoop) struct TimeOfDayTests {
    /// A clock, and what is reported of it.
    @Loop
    final class Watched {
        let day = TestDay()
        let clock = ManualClock()
        private(set) var events: [ClockDoubt?] = []
        private(set) lazy var timeOfDay = TimeOfDay(day, clock: clock) { [unowned self] in events.append($0) }
    }

    @Test(arguments: [0, TestDay.released - 1]) @Loop
    func `before the release no clock is right, which is reported once, and once more when it is set`(time: Int64) {
        let watched = Watched()
        watched.day.seconds = time
        for _ in 0..<3 { #expect(watched.timeOfDay.doubt == .beforeRelease) }
        watched.day.seconds = TestDay.released
        for _ in 0..<3 { #expect(watched.timeOfDay.doubt == nil) }
        #expect(watched.events == [.beforeRelease, nil])
    }

    @Test(arguments: [86_400, -86_400]) @Loop
    func `a clock that is further than a day from two services' is doubted until it is set`(limit: Int64) async {
        let watched = Watched()
        for vendor in ["vendor", "other"] { watched.timeOfDay.learn(.reply(watched.day.seconds + limit), from: vendor) }
        #expect(watched.timeOfDay.doubt == nil)
        let ahead = limit + limit.signum()
        watched.timeOfDay.learn(.reply(watched.day.seconds + ahead), from: "vendor")
        watched.timeOfDay.learn(.reply(watched.day.seconds + 2 * ahead), from: "other")
        #expect(watched.timeOfDay.doubt == .service("vendor", ahead: ahead))
        // Time goes on at the services as well.
        await watched.clock.advance(by: .seconds(3_000))
        watched.day.seconds += 3_000
        #expect(watched.timeOfDay.doubt == .service("vendor", ahead: ahead))
        watched.day.seconds += ahead
        #expect(watched.timeOfDay.doubt == nil)
        #expect(watched.events == [.service("vendor", ahead: ahead), nil])
    }

    @Test(arguments: [3 * 86_400, -3 * 86_400, 10 * 365 * 86_400]) @Loop
    func `the time of one service alone says nothing`(ahead: Int64) {
        let watched = Watched()
        watched.timeOfDay.learn(.reply(watched.day.seconds + ahead), from: "vendor")
        #expect(watched.timeOfDay.doubt == nil)
        // Nor where another one agrees with this machine.
        watched.timeOfDay.learn(.reply(watched.day.seconds + 5), from: "other")
        #expect(watched.timeOfDay.doubt == nil && watched.events.isEmpty)
    }

    @Test @Loop func `what a service said more than an hour ago counts no longer`() async {
        let watched = Watched()
        for vendor in ["vendor", "other"] {
            watched.timeOfDay.learn(.reply(watched.day.seconds + 200_000), from: vendor)
        }
        #expect(watched.timeOfDay.doubt != nil)
        await watched.clock.advance(by: .seconds(3_601))
        watched.day.seconds += 3_601
        watched.timeOfDay.learn(.reply(watched.day.seconds + 200_000), from: "vendor")
        #expect(watched.timeOfDay.doubt == nil)
    }

    @Test(arguments: [Int64.max, .min]) @Loop func `no time that services say breaks anything`(time: Int64) async {
        let watched = Watched()
        for vendor in ["vendor", "other"] { watched.timeOfDay.learn(.reply(time), from: vendor) }
        await watched.clock.advance(by: .seconds(1))
        _ = watched.timeOfDay.doubt
        watched.timeOfDay.learn(.reply(watched.day.seconds), from: "vendor")
        #expect(watched.timeOfDay.doubt == nil)
    }

    @Test @Loop func `a certificate wrong in its time speaks against the clock until a service answers`() {
        let watched = Watched()
        watched.timeOfDay.learn(.wrongTime, from: "vendor")
        #expect(watched.timeOfDay.doubt == .certificate("vendor"))
        // Whatever it says: its certificate is in its time.
        watched.timeOfDay.learn(.reply(nil), from: "vendor")
        #expect(watched.timeOfDay.doubt == nil)
        #expect(watched.events == [.certificate("vendor"), nil])
    }

    @Test @Loop func `a certificate that has expired says nothing while another service answers, for an hour`() async {
        let watched = Watched()
        watched.timeOfDay.learn(.reply(watched.day.seconds), from: "other")
        watched.timeOfDay.learn(.wrongTime, from: "vendor")
        await watched.clock.advance(by: .seconds(3_600))
        #expect(watched.timeOfDay.doubt == nil && watched.events.isEmpty)
        await watched.clock.advance(by: .seconds(1))
        watched.timeOfDay.learn(.wrongTime, from: "vendor")
        #expect(watched.timeOfDay.doubt == .certificate("vendor"))
        await watched.clock.advance(by: .seconds(3_601))
        #expect(watched.timeOfDay.doubt == nil)
    }

    private static let given = "203.0.113.9"

    /// A machine whose clock was never set: HTTPDNS's certificates are not valid yet, nor are any others.
    @Loop private func machine(
        _ setting: RaceRules.CertificateCheck = .auto, server: FakeHandshake.Server, isSet: Bool = false,
        isListed: Bool = true
    ) throws -> Machine {
        let machine = Machine(
            policy: isListed ? RoutePolicy(protect: [try Name("example.com")]) : RoutePolicy(),
            check: setting)
        if !isSet { machine.day.seconds = 12 }
        machine.vendor.behaviour = .failure(.certificate("the certificate is not valid yet"))
        machine.handshake.servers[Self.given] = server
        machine.localDNS.behaviour = .addresses(Self.given, ttl: 600)
        return machine
    }

    private static let early = FakeHandshake.Server(.wrongTime)

    @Test @Loop func `A7: with an unset clock a certificate wrong in its time alone verifies all names`() async throws {
        for setting in [RaceRules.CertificateCheck.auto, .strict] {
            let machine = try machine(setting, server: Self.early)
            let reply = await machine.ask("ntp.example.com")
            #expect(reply.has(Self.given) && reply.packed?.longestTTL == 30)
            #expect(machine.events.contains(.clockDoubted(.beforeRelease)))
        }
    }

    /// Time servers show the certificate of whatever else their host serves, or none.
    @Test(arguments: [FakeHandshake.Server.refusing, .plain, .hijacker]) @Loop
    func `with an unset clock names on no list resolve for 30 s, time servers among them`(
        server: FakeHandshake.Server
    ) async throws {
        let machine = try machine(server: server, isListed: false)
        let reply = await machine.ask("ntp.example.com")
        #expect(reply.has(Self.given) && reply.packed?.longestTTL == 30)
    }

    @Test(arguments: [FakeHandshake.Server.refusing, .plain, .hijacker]) @Loop
    func `A7: with an unset clock a listed name needs a certificate all the same`(server: FakeHandshake.Server)
        async throws
    {
        #expect(try await machine(server: server).ask("ntp.example.com").failure == .serverFailure)
        let strict = try machine(.strict, server: server, isListed: false)
        #expect(await strict.ask("ntp.example.com").failure == .serverFailure)
    }

    @Test @Loop func `once it is set, a certificate that is wrong in its time verifies nothing`() async throws {
        let machine = try machine(server: Self.early, isSet: true)
        #expect(await machine.ask("ntp.example.com").failure == .serverFailure)
        let unlisted = try self.machine(server: Self.early, isSet: true, isListed: false)
        #expect(await unlisted.ask("ntp.example.com").has(Self.given))
    }

    @Test @Loop func `a wrong name stays a wrong name, but nothing is recorded while the clock is wrong`() async throws
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

extension TimeOfDay {
    /// That of a test: right until `day` is changed.
    convenience init(
        _ day: TestDay = TestDay(), clock: any LoopClock, report: @escaping @Loop (ClockDoubt?) -> Void = { _ in }
    ) {
        self.init(
            released: TestDay.released, clock: clock, secondsSince1970: { day.seconds }, report: report)
    }
}
