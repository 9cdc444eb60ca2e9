import DNSCache
import DNSWire
import Scheduling
import TestSupport
import TestUpstreams
import Testing

@testable import DNSResolver

/// What a client gets when HTTPDNS fails and LocalDNS's addresses are checked by their certificates; and with LocalDNS
/// first.
@Suite(.onLoop)
struct CertificateScenarioTests {
    /// The address that LocalDNS returns.
    private static let given = "203.0.113.9"

    @Loop
    private func machine(
        _ setting: CertificateRule.Setting = .auto, listed: Bool = false, mode: Mode = .httpdnsFirst,
        unverified: [Name] = [], server: FakeHandshake.Server
    ) throws -> ResolverTests.Machine {
        let protect = listed ? [try Name("example.com")] : []
        let machine = ResolverTests.Machine(
            policy: RoutePolicy(mode: mode, protect: NameList(protect)),
            rule: CertificateRule(setting, unverified: unverified))
        machine.handshake.servers[Self.given] = server
        machine.localDNS.behaviour = .addresses(Self.given, ttl: 600)
        return machine
    }

    /// Makes HTTPDNS unreachable.
    @Loop
    private func cutHTTPDNS(_ machine: ResolverTests.Machine) {
        machine.vendor.behaviour = .failure(.network("refused"))
    }

    @Test(arguments: [false, true]) @Loop
    func `HTTPDNS is down and LocalDNS is honest: its verified address is given and cached`(
        listed: Bool
    ) async throws {
        let machine = try machine(listed: listed, server: .honest)
        cutHTTPDNS(machine)
        #expect(await machine.ask().has(Self.given))
        await machine.clock.advance(by: .seconds(500))
        let again = await machine.ask()
        #expect(again.has(Self.given) && again.response?.origin == .cache)
        #expect(machine.localDNS.asked.count { $0.types == [.a] } == 1)
        #expect(machine.handshake.attempts.count == 1)
    }

    @Test(arguments: [false, true]) @Loop
    func `HTTPDNS is silent: LocalDNS's verified address is given after 0.8 s, an unverified one only after 1.9 s`(
        isVerified: Bool
    ) async throws {
        let machine = try machine(server: isVerified ? .honest : .refusing)
        machine.vendor.behaviour = .silence
        let reply = await machine.ask()
        #expect(reply.has(Self.given))
        #expect(reply.waited == .milliseconds(isVerified ? 800 : 1_900))
        // The silent address is detected all the same.
        await machine.clock.advance(by: .seconds(3))
        #expect(!machine.vendor.health.isUsable)
    }

    /// Asks for both families of a name whose AAAA LocalDNS denies, and HTTPDNS is silent.
    @Loop
    private func askBothFamilies(
        _ machine: ResolverTests.Machine, ttl: UInt32 = 600
    ) async -> (a: ResolverTests.Reply, aaaa: ResolverTests.Reply) {
        machine.vendor.behaviour = .silence
        machine.localDNS.behaviour = .addresses(Self.given, ttl: ttl)
        let (a, aaaa) = (ResolverTests.Reply(clock: machine.clock), ResolverTests.Reply(clock: machine.clock))
        machine.start("www.example.com", .a, a)
        machine.start("www.example.com", .aaaa, aaaa)
        for _ in 0..<23 { await machine.clock.advance(by: .milliseconds(100)) }
        return (a, aaaa)
    }

    @Test(arguments: [false, true], [false, true]) @Loop
    func `HTTPDNS is silent: of a name with IPv4 alone both families are answered after 0.8 s`(
        listed: Bool, isTogether: Bool
    ) async throws {
        let protect = listed ? [try Name("example.com")] : []
        let machine = ResolverTests.Machine(
            policy: RoutePolicy(protect: NameList(protect)), rule: CertificateRule(.auto),
            answersBothFamilies: isTogether)
        machine.handshake.servers[Self.given] = .init(.verified, after: .milliseconds(100))
        let (a, aaaa) = await askBothFamilies(machine)
        #expect(a.has(Self.given) && a.waited == .milliseconds(800))
        #expect(aaaa.packed?.responseCode == .noError && aaaa.packed?.counts == .init(authority: 1))
        #expect(aaaa.waited.map { $0 <= .milliseconds(810) } == true)
        // Not longer than until the next question: HTTPDNS may know addresses of that family.
        machine.vendor.behaviour = .addresses("192.0.2.1", "2001:db8::1")
        await machine.clock.advance(by: .seconds(5))
        #expect(await machine.ask("www.example.com", .aaaa).has("2001:db8::1"))
    }

    @Test @Loop func `HTTPDNS is silent: both families are answered, too, where the addresses may not be cached`()
        async throws
    {
        let machine = try machine(server: .honest)
        let (a, aaaa) = await askBothFamilies(machine, ttl: 0)
        #expect(a.has(Self.given) && a.waited == .milliseconds(800))
        #expect(aaaa.packed?.responseCode == .noError && aaaa.packed?.counts == .init(authority: 1))
    }

    @Test @Loop func `HTTPDNS is silent again: the family that LocalDNS has denied meanwhile is answered, too`()
        async throws
    {
        let machine = try machine(server: .init(.verified, after: .milliseconds(100)))
        machine.vendor.probeBehaviour = .silence
        _ = await askBothFamilies(machine)
        await machine.clock.advance(by: .seconds(8))
        #expect(await machine.ask("www.example.com", .aaaa).packed?.counts == .init(authority: 1))
        machine.vendor.probeBehaviour = .addresses("192.0.2.1")
        machine.vendor.behaviour = .addresses("192.0.2.1")
        await machine.clock.advance(by: .seconds(40))
        #expect(await machine.ask("other.example").has("192.0.2.1"))
        let (a, aaaa) = await askBothFamilies(machine)
        #expect(a.has(Self.given) && a.isStale)
        #expect(aaaa.packed?.responseCode == .noError && aaaa.packed?.counts == .init(authority: 1))
    }

    @Test @Loop func `HTTPDNS answers one family and denies the other while an address of LocalDNS is silent`()
        async throws
    {
        let machine = try machine(server: .init(.verified, after: .milliseconds(100)))
        machine.handshake.servers["203.0.113.10"] = .silent
        machine.vendor.probeBehaviour = .silence
        _ = await askBothFamilies(machine)
        machine.vendor.probeBehaviour = .addresses("192.0.2.1")
        machine.vendor.behaviour = .addresses("192.0.2.1")
        await machine.clock.advance(by: .seconds(40))
        #expect(await machine.ask("other.example").has("192.0.2.1"))
        var denial = Answer.negative(name: .root, ttl: 60)
        denial.responseCode = .nameError
        let answer = Answer(name: .root, addresses: [try #require(IPAddress("2001:db8::1"))], ttl: 60)
        machine.vendor.behaviour = .reply(
            after: .milliseconds(950), [.a: .answer(denial), .aaaa: .answer(answer)])
        machine.localDNS.behaviour = .addresses(Self.given, "203.0.113.10", after: .milliseconds(250), ttl: 600)
        let (a, aaaa) = (ResolverTests.Reply(clock: machine.clock), ResolverTests.Reply(clock: machine.clock))
        machine.start("www.example.com", .aaaa, aaaa)
        machine.start("www.example.com", .a, a)
        for _ in 0..<46 { await machine.clock.advance(by: .milliseconds(50)) }
        #expect(a.has(Self.given))
        #expect(aaaa.has("2001:db8::1") && aaaa.waited == .milliseconds(950))
    }

    /// A machine that was given verified addresses of LocalDNS 90 s ago, for 60 s, and whose HTTPDNS answers after 0.95 s.
    @Loop
    private func machineWithStale() async -> ResolverTests.Machine {
        let machine = ResolverTests.Machine(
            policy: RoutePolicy(), rule: CertificateRule(.auto), answersBothFamilies: false)
        machine.handshake.servers[Self.given] = .honest
        machine.vendor.behaviour = .addresses("192.0.2.1", "2001:db8::1", after: .milliseconds(950))
        machine.localDNS.behaviour = .addresses(Self.given, ttl: 60)
        #expect(await machine.ask().has(Self.given))
        await machine.clock.advance(by: .seconds(90))
        return machine
    }

    @Test @Loop
    func `a denial of LocalDNS is not taken once the verified addresses of the other family are stale`() async {
        let machine = await machineWithStale()
        let reply = await machine.ask("www.example.com", .aaaa)
        #expect(reply.has("2001:db8::1") && reply.waited == .milliseconds(950))
    }

    @Test @Loop
    func `LocalDNS's denials of both families are not taken, though the name was verified before`() async {
        let machine = await machineWithStale()
        machine.localDNS.behaviour = .addresses()
        let replies = [ResolverTests.Reply(clock: machine.clock), ResolverTests.Reply(clock: machine.clock)]
        machine.start("www.example.com", .a, replies[0])
        machine.start("www.example.com", .aaaa, replies[1])
        for _ in 0..<95 { await machine.clock.advance(by: .milliseconds(10)) }
        #expect(replies[0].has(Self.given) && replies[0].isStale && replies[1].has("2001:db8::1"))
    }

    @Test @Loop func `HTTPDNS is silent: a denial of LocalDNS alone is not taken before 1.9 s`() async throws {
        let machine = try machine(server: .refusing)
        let (a, aaaa) = await askBothFamilies(machine)
        #expect(a.waited == .milliseconds(1_900) && aaaa.waited == .milliseconds(1_900))
    }

    @Test @Loop func `a slow answer of HTTPDNS that comes by 0.8 s goes before LocalDNS's verified one`() async throws {
        let machine = try machine(server: .honest)
        machine.vendor.behaviour = .addresses("192.0.2.1", after: .milliseconds(790))
        let reply = await machine.ask()
        #expect(reply.has("192.0.2.1") && reply.waited == .milliseconds(790))
    }

    @Test(arguments: [Duration.milliseconds(400), .seconds(10)]) @Loop
    func `LocalDNS's verified address of a family that a provider calls empty waits for the other family until 0.8 s`(
        slowness: Duration
    ) async throws {
        let machine = ResolverTests.Machine(rule: CertificateRule(.auto), answersBothFamilies: false)
        machine.handshake.servers[Self.given] = .honest
        let other = Answer(name: .root, addresses: [try #require(IPAddress("2001:db8::1"))], ttl: 60)
        machine.vendor.behaviour = .reply(after: .zero, [.a: .indeterminateEmpty(ttl: nil), .aaaa: .answer(other)])
        machine.vendor.slow = [.aaaa: slowness]
        machine.localDNS.behaviour = .addresses(Self.given)
        machine.start("www.example.com", .aaaa, ResolverTests.Reply(clock: machine.clock), from: .v4(0x7f00_0002))
        let reply = await machine.ask()
        if slowness < Budget.verified {
            #expect(reply.packed?.responseCode == .noError && reply.packed?.counts == .init(authority: 1))
        } else {
            #expect(reply.has(Self.given))
        }
        #expect(reply.waited == min(slowness, Budget.verified))
    }

    @Test(arguments: [ResponseCode.nameError, .noError]) @Loop
    func `a listed name that HTTPDNS calls empty and LocalDNS denies is NODATA, and asked for once`(
        code: ResponseCode
    ) async throws {
        let machine = try machine(listed: true, server: .honest)
        machine.vendor.behaviour = .unknown()
        let denial = UpstreamResult.answer(.negative(code, name: .root, ttl: 60))
        machine.localDNS.behaviour = .reply(after: .zero, [.a: denial, .aaaa: denial])
        let reply = await machine.ask()
        #expect(reply.packed?.responseCode == .noError && reply.packed?.counts == .init(authority: 1))
        await machine.clock.advance(by: .seconds(3))
        #expect(await machine.ask().response?.origin == .cache)
        #expect(machine.vendor.asked.count == 1)
    }

    @Test(arguments: [false, true]) @Loop
    func `a name that was deleted is not served stale: HTTPDNS calls it empty, LocalDNS denies it, once`(
        listed: Bool
    ) async throws {
        let machine = try machine(listed: listed, server: .honest)
        #expect(await machine.ask().has("192.0.2.1"))
        await machine.clock.advance(by: .seconds(70))
        machine.vendor.behaviour = .unknown()
        let denial = UpstreamResult.answer(.negative(.nameError, name: .root, ttl: 60))
        machine.localDNS.behaviour = .reply(after: .zero, [.a: denial, .aaaa: denial])
        for _ in 0..<3 {
            let reply = await machine.ask()
            #expect(reply.packed?.counts == .init(authority: 1) && !reply.isStale)
            await machine.clock.advance(by: .seconds(3))
        }
        #expect(machine.vendor.asked.count == 2)
    }

    @Test(arguments: [false, true], [false, true]) @Loop
    func `LocalDNS cannot end the use of a stale answer alone: by a denial, or by a forged address`(
        listed: Bool, denies: Bool
    ) async throws {
        let machine = try machine(listed: listed, server: .refusing)
        #expect(await machine.ask().has("192.0.2.1"))
        await machine.clock.advance(by: .seconds(70))
        if denies {
            cutHTTPDNS(machine)
            let denial = UpstreamResult.answer(.negative(.nameError, name: .root, ttl: 60))
            machine.localDNS.behaviour = .reply(after: .zero, [.a: denial, .aaaa: denial])
        } else {
            machine.vendor.behaviour = .unknown()
        }
        let reply = await machine.ask()
        #expect(reply.has("192.0.2.1") && reply.isStale)
    }

    @Test @Loop func `a verified answer of LocalDNS is used no longer than the verdict, whatever its TTL`() async throws
    {
        let machine = try machine(server: .honest)
        machine.localDNS.behaviour = .addresses(Self.given, ttl: 86_400)
        cutHTTPDNS(machine)
        #expect(await machine.ask().has(Self.given))
        let asked = machine.localDNS.asked.count
        await machine.clock.advance(by: .seconds(500))
        #expect(await machine.ask().response?.origin == .cache)
        #expect(machine.localDNS.asked.count == asked)
        await machine.clock.advance(by: .seconds(100))
        _ = await machine.ask()
        #expect(machine.localDNS.asked.count > asked)
    }

    @Test(arguments: [false, true]) @Loop
    func `HTTPDNS is down and LocalDNS forges: the client gets an EDE, never the forgery`(listed: Bool) async throws {
        let machine = try machine(listed: listed, server: .hijacker)
        cutHTTPDNS(machine)
        let reply = await machine.ask()
        #expect(reply.failure == .serverFailure)
        #expect(reply.response?.extendedError?.code == .forgedAnswer)
        #expect(machine.checks.journal.total == 1)
    }

    @Test(arguments: [FakeHandshake.Server.refusing, .plain, .silent]) @Loop
    func `without TLS a listed name has no answer, and any other one has LocalDNS's for a minute`(
        server: FakeHandshake.Server
    ) async throws {
        for listed in [true, false] {
            let machine = try machine(listed: listed, server: server)
            cutHTTPDNS(machine)
            let reply = await machine.ask()
            if listed {
                #expect(reply.failure == .serverFailure)
                #expect(reply.response?.extendedError?.code != .forgedAnswer)
            } else {
                #expect(reply.has(Self.given))
                await machine.clock.advance(by: .seconds(61))
                _ = await machine.ask()
                #expect(machine.localDNS.asked.count { $0.types == [.a] } == 2)
            }
        }
    }

    @Test @Loop func `an address that cannot be reached from here is not given as one without TLS`() async throws {
        let machine = try machine(server: .unreachable)
        cutHTTPDNS(machine)
        let reply = await machine.ask()
        #expect(reply.failure == .serverFailure && !reply.has(Self.given))
        machine.localDNS.behaviour = .addresses(Self.given, "203.0.113.10")
        machine.handshake.servers["203.0.113.10"] = .refusing
        await machine.clock.advance(by: .seconds(6))
        let other = await machine.ask("other.example.com")
        #expect(other.has("203.0.113.10") && !other.has(Self.given))
        // The server can be reached again.
        machine.handshake.servers[Self.given] = .honest
        #expect(await machine.ask().has(Self.given))
    }

    @Test @Loop func `of several addresses the forged one is missing, and the verified stand alone`() async throws {
        let machine = try machine(server: .hijacker)
        machine.localDNS.behaviour = .addresses(Self.given, "203.0.113.10", "203.0.113.11")
        machine.handshake.servers["203.0.113.10"] = .honest
        cutHTTPDNS(machine)
        let reply = await machine.ask()
        #expect(reply.has("203.0.113.10") && !reply.has(Self.given) && !reply.has("203.0.113.11"))
    }

    @Test @Loop func `a silent first address does not delay the verification of the second one`() async throws {
        let machine = try machine(.strict, server: .silent)
        machine.localDNS.behaviour = .addresses(Self.given, "203.0.113.10")
        machine.handshake.servers["203.0.113.10"] = .init(.verified, after: .milliseconds(200))
        cutHTTPDNS(machine)
        let reply = await machine.ask()
        #expect(reply.has("203.0.113.10") && !reply.has(Self.given))
        #expect(reply.waited == .milliseconds(400))
    }

    @Test @Loop func `the order is verified LocalDNS, then a stale answer, then unverified LocalDNS`() async throws {
        for (server, expected) in [(FakeHandshake.Server.honest, Self.given), (.refusing, "192.0.2.1")] {
            let machine = try machine(server: server)
            _ = await machine.ask()
            cutHTTPDNS(machine)
            await machine.clock.advance(by: .seconds(300))
            let reply = await machine.ask()
            #expect(reply.has(expected))
            #expect(reply.isStale == (expected == "192.0.2.1"))
        }
        let machine = try machine(server: .refusing)
        cutHTTPDNS(machine)
        #expect(await machine.ask().has(Self.given))
    }

    @Test @Loop func `a verified answer that has gone stale goes before an unverified one`() async throws {
        let machine = try machine(server: .honest)
        cutHTTPDNS(machine)
        _ = await machine.ask()
        await machine.clock.advance(by: .seconds(700))
        machine.localDNS.behaviour = .addresses("203.0.113.66")
        let reply = await machine.ask()
        #expect(reply.isStale && reply.has(Self.given))
    }

    @Test @Loop func `that a name does not exist is accepted only where the check is lenient`() async throws {
        for (listed, code) in [(true, ResponseCode.serverFailure), (false, .nameError)] {
            let machine = try machine(listed: listed, server: .refusing)
            let denial = UpstreamResult.answer(.negative(.nameError, name: .root, ttl: 60))
            machine.localDNS.behaviour = .reply(after: .zero, [.a: denial, .aaaa: denial])
            cutHTTPDNS(machine)
            #expect(await machine.ask().response?.responseCode == code)
        }
    }

    @Test @Loop func `a family that cannot be verified is empty while the other one is verified`() async throws {
        let machine = try machine(listed: true, server: .honest)
        cutHTTPDNS(machine)
        #expect(await machine.ask().has(Self.given))
        let reply = await machine.ask("www.example.com", .aaaa)
        #expect(reply.response?.responseCode == .noError && reply.packed?.counts == .init(authority: 1))
    }

    @Test @Loop func `names without TLS are taken as they are, and bypassed ones are never checked`() async throws {
        let machine = try machine(.strict, unverified: [try Name("example.com")], server: .hijacker)
        cutHTTPDNS(machine)
        #expect(await machine.ask().has(Self.given))
        machine.localDNS.behaviour = .addresses("203.0.113.10")
        #expect(await machine.ask("printer").has("203.0.113.10"))
        #expect(machine.handshake.attempts.isEmpty)
    }

    @Test @Loop func `the check runs while HTTPDNS is awaited, and ends when that answers`() async throws {
        let machine = try machine(server: .init(.verified, after: .milliseconds(350)))
        machine.vendor.behaviour = .addresses("192.0.2.1", after: .milliseconds(700))
        #expect(await machine.ask().has("192.0.2.1"))
        await machine.clock.advance(by: .zero)
        #expect(machine.handshake.attempts.count == 1)
        #expect(machine.handshake.cancelled == 1)
    }

    @Test @Loop func `when all is silent for as long as can be the client is answered by 2.3 s`() async throws {
        let machine = try machine(server: .silent)
        machine.vendor.behaviour = .silence
        machine.localDNS.behaviour = .addresses(Self.given, after: .milliseconds(1_600))
        let reply = await machine.ask()
        #expect(reply.has(Self.given))
        #expect(reply.waited ?? .seconds(9) <= Budget.answer)
    }

    @Test(arguments: [false, true]) @Loop
    func `a hijacker gives each name a silent address of its own: all are answered in time, honest names too`(
        listed: Bool
    ) async throws {
        let machine = try machine(listed: listed, server: .honest)
        cutHTTPDNS(machine)
        var replies: [ResolverTests.Reply] = []
        // Four times as many at once as there are places for checks.
        for number in 0..<(4 * AddressChecks.limit) {
            let address = "198.51.100.\(number)"
            machine.handshake.servers[address] = .silent
            machine.localDNS.behaviour = .addresses(address)
            replies.append(ResolverTests.Reply(clock: machine.clock))
            machine.start("n\(number).example.com", .a, replies[number])
            await machine.clock.advance(by: .zero)
        }
        machine.localDNS.behaviour = .addresses(Self.given)
        // Its check has its turn when the time of the first of theirs is over.
        await machine.clock.advance(by: .milliseconds(200))
        #expect(await machine.ask().has(Self.given))
        await machine.clock.advance(by: Budget.answer)
        #expect(replies.allSatisfy { $0.waited ?? .seconds(9) <= Budget.answer })
        for (number, reply) in replies.enumerated() {
            #expect(listed ? reply.failure == .serverFailure : reply.has("198.51.100.\(number)"))
        }
        #expect(
            machine.checks.known(try #require(IPAddress(Self.given)), for: try Name("www.example.com")) == .verified)
        await machine.clock.advance(by: AddressChecks.longest)
        #expect(machine.checks.load == (0, 0))
    }

    @Test @Loop func `a forgery that is detected while HTTPDNS is still awaited is not given when that fails`()
        async throws
    {
        let machine = try machine(
            server: .init(FakeHandshake.Server.hijacker.outcome, after: .milliseconds(700)))
        machine.vendor.behaviour = .silence
        let reply = await machine.ask()
        #expect(reply.failure == .serverFailure && !reply.has(Self.given))
        #expect(reply.response?.extendedError?.code == .forgedAnswer)
    }

    @Test @Loop func `an address that is verified while HTTPDNS is still awaited is cached for its whole TTL`()
        async throws
    {
        let machine = try machine(server: .init(.verified, after: .milliseconds(700)))
        machine.vendor.behaviour = .silence
        #expect(await machine.ask().has(Self.given))
        await machine.clock.advance(by: .seconds(500))
        #expect(await machine.ask().response?.origin == .cache)
    }

    @Test @Loop func `a forgery that is detected after it was given is dropped at once`() async throws {
        let machine = try machine(
            server: .init(FakeHandshake.Server.hijacker.outcome, after: .milliseconds(1_200)))
        machine.localDNS.behaviour = .addresses(Self.given, after: .milliseconds(1_200))
        cutHTTPDNS(machine)
        #expect(await machine.ask().has(Self.given))
        await machine.clock.advance(by: .seconds(6))
        let reply = await machine.ask()
        #expect(reply.failure == .serverFailure && !reply.has(Self.given))
    }

    @Test @Loop func `what has been detected as forged is not served stale either`() async throws {
        let machine = try machine(server: .refusing)
        cutHTTPDNS(machine)
        #expect(await machine.ask().has(Self.given))
        machine.handshake.servers[Self.given] = .hijacker
        await machine.clock.advance(by: .seconds(61))
        let reply = await machine.ask()
        #expect(reply.failure == .serverFailure && !reply.has(Self.given))
    }

    /// A machine without HTTPDNS that has an unverified answer of LocalDNS, whose address is detected as forged for another
    /// client's question after so many seconds.
    @Loop
    private func machineWithForged(after seconds: Int64) async throws -> ResolverTests.Machine {
        let machine = try machine(server: .refusing)
        cutHTTPDNS(machine)
        #expect(await machine.ask().has(Self.given))
        await machine.clock.advance(by: .seconds(seconds))
        machine.handshake.servers[Self.given] = .hijacker
        #expect(await machine.ask(signed: true).failure == .serverFailure)
        return machine
    }

    @Test @Loop func `what is detected as forged for another client's question is given to none`() async throws {
        let machine = try await machineWithForged(after: 40)
        #expect(await machine.ask().failure == .serverFailure)
    }

    @Test @Loop func `a stale answer that is known to be forged ends no wait for a better one`() async throws {
        let machine = try await machineWithForged(after: 90)
        machine.vendor.behaviour = .addresses("192.0.2.1", after: .milliseconds(600))
        #expect(await machine.ask().has("192.0.2.1"))
    }

    @Test @Loop func `nor does one that is detected as forged while a client waits`() async throws {
        let machine = try machine(server: .refusing)
        cutHTTPDNS(machine)
        #expect(await machine.ask().has(Self.given))
        await machine.clock.advance(by: .seconds(90))
        machine.vendor.behaviour = .addresses("192.0.2.1", after: .milliseconds(700))
        machine.handshake.servers[Self.given] = .init(
            FakeHandshake.Server.hijacker.outcome, after: .milliseconds(150))
        // LocalDNS is asked after 0.5 s.
        machine.start("www.example.com", .a, ResolverTests.Reply(clock: machine.clock))
        await machine.clock.advance(by: .milliseconds(550))
        #expect(await machine.ask().has("192.0.2.1"))
    }

    @Test @Loop func `a verified answer is not used under another policy`() async throws {
        let machine = try machine(server: .honest)
        cutHTTPDNS(machine)
        #expect(await machine.ask().has(Self.given))
        machine.resolver.turn(on: false)
        machine.resolver.turn(on: true)
        machine.localDNS.behaviour = .failure(.network("unreachable"))
        #expect(await machine.ask().failure == .serverFailure)
    }

    // MARK: LocalDNS first

    @Test @Loop func `LocalDNS first: an honest one answers at once, is verified behind, and HTTPDNS is not asked`()
        async throws
    {
        let machine = try machine(mode: .localDNSFirst, server: .init(.verified, after: .milliseconds(300)))
        let reply = await machine.ask()
        #expect(reply.has(Self.given) && reply.waited == .zero)
        await machine.clock.advance(by: .seconds(120))
        #expect(await machine.ask().response?.origin == .cache)
        #expect(machine.vendor.asked.isEmpty)
    }

    @Test @Loop func `LocalDNS first: what cannot be verified is cached for a minute, and HTTPDNS is not asked`()
        async throws
    {
        let machine = try machine(mode: .localDNSFirst, server: .refusing)
        _ = await machine.ask()
        await machine.clock.advance(by: .seconds(61))
        #expect(await machine.ask().has(Self.given))
        #expect(machine.localDNS.asked.count { $0.types == [.a] } == 2)
        #expect(machine.vendor.asked.isEmpty)
    }

    @Test @Loop func `LocalDNS first: a forgery is detected behind, and HTTPDNS repairs what is cached`() async throws {
        let machine = try machine(
            mode: .localDNSFirst,
            server: .init(FakeHandshake.Server.hijacker.outcome, after: .milliseconds(200)))
        machine.localDNS.behaviour = .addresses(Self.given, "203.0.113.10")
        machine.handshake.servers["203.0.113.10"] = .honest
        #expect(await machine.ask().has(Self.given))
        await machine.clock.advance(by: .milliseconds(400))
        let reply = await machine.ask()
        #expect(reply.response?.origin == .cache)
        #expect(reply.has("192.0.2.1") && !reply.has(Self.given) && !reply.has("203.0.113.10"))
    }

    @Test @Loop func `LocalDNS first: a forgery is detected and repaired while the other family hangs`() async throws {
        let machine = try machine(
            mode: .localDNSFirst,
            server: .init(FakeHandshake.Server.hijacker.outcome, after: .milliseconds(100)))
        machine.localDNS.slow[.aaaa] = .seconds(4)
        machine.vendor.behaviour = .addresses("192.0.2.1", "2001:db8::1", after: .milliseconds(400))
        #expect(await machine.ask().has(Self.given))
        let other = ResolverTests.Reply(clock: machine.clock)
        machine.start("www.example.com", .aaaa, other)
        await machine.clock.advance(by: .milliseconds(150))
        let reply = await machine.ask()
        #expect(reply.has("192.0.2.1") && !reply.has(Self.given))
        #expect(other.has("2001:db8::1"))
    }

    @Test @Loop func `LocalDNS first: a forgery is dropped and not given again though HTTPDNS fails`() async throws {
        let machine = try machine(
            mode: .localDNSFirst,
            server: .init(FakeHandshake.Server.hijacker.outcome, after: .milliseconds(200)))
        cutHTTPDNS(machine)
        #expect(await machine.ask().has(Self.given))
        await machine.clock.advance(by: .seconds(3))
        for _ in 0..<3 {
            let reply = await machine.ask()
            #expect(reply.failure == .serverFailure && !reply.has(Self.given))
            await machine.clock.advance(by: .seconds(6))
        }
        #expect(machine.checks.journal.total == 1)
    }

    @Test @Loop func `LocalDNS first: a forgery is dropped as soon as it is known, though another address is silent`()
        async throws
    {
        let machine = try machine(mode: .localDNSFirst, server: .hijacker)
        machine.localDNS.behaviour = .addresses("203.0.113.10", Self.given)
        machine.handshake.servers["203.0.113.10"] = .silent
        #expect(await machine.ask().has(Self.given))
        await machine.clock.advance(by: .milliseconds(150))
        let reply = await machine.ask()
        #expect(reply.has("192.0.2.1") && !reply.has(Self.given))
    }

    @Test @Loop func `LocalDNS first: a forgery in one family is dropped though the other one's address is silent`()
        async throws
    {
        let machine = try machine(mode: .localDNSFirst, server: .silent)
        machine.localDNS.behaviour = .addresses(Self.given, "2001:db8::66")
        machine.handshake.servers["2001:db8::66"] = .hijacker
        #expect(await machine.ask("www.example.com", .aaaa).has("2001:db8::66"))
        await machine.clock.advance(by: .milliseconds(50))
        #expect(await machine.ask("www.example.com", .aaaa).has("2001:db8::1"))
    }

    @Test(arguments: [50, 110]) @Loop
    func `LocalDNS first: a forgery is dropped from the answers that are cached apart, too`(later: Int) async throws {
        let machine = try machine(
            mode: .localDNSFirst, server: .init(FakeHandshake.Server.hijacker.outcome, after: .milliseconds(30)))
        machine.localDNS.behaviour = .addresses("203.0.113.10", Self.given)
        machine.handshake.servers["203.0.113.10"] = .silent
        #expect(await machine.ask().has(Self.given))
        await machine.clock.advance(by: .milliseconds(later))
        #expect(await machine.ask(signed: true).has(Self.given))
        // Detected for the first answer, whose second address is checked after 0.1 s.
        await machine.clock.advance(by: .milliseconds(135 - later))
        #expect(machine.checks.journal.total == 1)
        #expect(await !machine.ask(signed: true).has(Self.given))
    }

    @Test @Loop
    func `LocalDNS first: a forgery is repaired for another client whose look-up still waits for the other family`()
        async throws
    {
        let machine = try machine(
            mode: .localDNSFirst, server: .init(FakeHandshake.Server.hijacker.outcome, after: .milliseconds(30)))
        machine.localDNS.behaviour = .addresses("203.0.113.10", Self.given)
        machine.localDNS.slow[.aaaa] = .seconds(4)
        machine.handshake.servers["203.0.113.10"] = .silent
        #expect(await machine.ask().has(Self.given))
        await machine.clock.advance(by: .milliseconds(50))
        #expect(await machine.ask(signed: true).has(Self.given))
        await machine.clock.advance(by: .milliseconds(85))
        #expect(machine.checks.journal.total == 1)
        #expect(await machine.ask(signed: true).has("192.0.2.1"))
    }

    /// A machine whose LocalDNS answers A alone, with a forgery that is detected 0.7 s after the question.
    @Loop
    private func machineWithLateForgery(answeredAfter delay: Duration, detectedAfter check: Duration) throws
        -> ResolverTests.Machine
    {
        let machine = try machine(
            mode: .localDNSFirst, server: .init(FakeHandshake.Server.hijacker.outcome, after: check))
        guard case .reply(_, var results) = machine.localDNS.behaviour else { return machine }
        results[.aaaa] = .failure(.responseCode(.serverFailure))
        machine.localDNS.behaviour = .reply(after: .zero, results)
        machine.localDNS.slow[.a] = delay
        machine.vendor.behaviour = .addresses("192.0.2.1", "2001:db8::1", after: .seconds(1))
        return machine
    }

    @Test @Loop func `LocalDNS first: HTTPDNS that is asked as a forgery is detected is not asked once more`()
        async throws
    {
        let machine = try machineWithLateForgery(
            answeredAfter: .milliseconds(600), detectedAfter: .milliseconds(100))
        let reply = await machine.ask("www.example.com", .aaaa)
        #expect(reply.has("2001:db8::1"))
        #expect(await machine.ask().has("192.0.2.1"))
        #expect(machine.checks.journal.total == 1)
        #expect(machine.vendor.asked.count == 1)
        #expect(reply.waited == .seconds(1))
    }

    @Test @Loop func `LocalDNS first: HTTPDNS that is asked for one family is asked for the forged one, too`()
        async throws
    {
        let machine = try machineWithLateForgery(answeredAfter: .zero, detectedAfter: .milliseconds(700))
        let reply = await machine.ask("www.example.com", .aaaa)
        #expect(reply.has("2001:db8::1"))
        #expect(machine.checks.journal.total == 1)
        #expect(machine.vendor.asked.map(\.types) == [[.aaaa], [.a]])
        #expect(await machine.ask().has("192.0.2.1"))
        #expect(reply.waited == .seconds(1))
    }

    @Test @Loop func `what is unverified is cached for a minute, whatever shorter TTLs are raised to`() async throws {
        let machine = ResolverTests.Machine(freshness: FreshnessPolicy(minTTL: .seconds(300)))
        cutHTTPDNS(machine)
        #expect(await machine.ask().has(Self.given))
        await machine.clock.advance(by: .seconds(61))
        machine.vendor.behaviour = .addresses("192.0.2.1")
        #expect(await machine.ask().has("192.0.2.1"))
    }

    @Test @Loop func `LocalDNS first, unchecked: its answers are used for their whole TTL`() async throws {
        let machine = try machine(.off, mode: .localDNSFirst, server: .hijacker)
        _ = await machine.ask()
        await machine.clock.advance(by: .seconds(500))
        #expect(await machine.ask().response?.origin == .cache)
        #expect(machine.handshake.attempts.isEmpty)
    }
}
