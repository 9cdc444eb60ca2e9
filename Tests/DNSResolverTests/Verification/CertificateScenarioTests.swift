import DNSCache
import DNSWire
import TestSupport
import TestUpstreams
import Testing

@testable import DNSResolver

/// What a client gets when HTTPDNS fails and LocalDNS's addresses are checked by their certificates; and with LocalDNS
/// first.
@Suite(.onLoop) struct CertificateScenarioTests {
    /// The address that LocalDNS returns.
    private static let given = "203.0.113.9"

    @Loop private func machine(
        _ setting: RaceRules.CertificateCheck = .auto, listed: Bool = false, mode: Mode = .httpdnsFirst,
        unverified: [Name] = [], families: FamilyPreference = .both, server: FakeHandshake.Server
    ) throws -> Machine {
        let protect = listed ? [try Name("example.com")] : []
        let machine = Machine(
            policy: RoutePolicy(mode: mode, protect: NameList(protect)),
            check: setting, unverified: unverified, local: LocalAnswers(families: families))
        machine.handshake.servers[Self.given] = server
        machine.localDNS.behaviour = .addresses(Self.given, ttl: 600)
        return machine
    }

    /// Makes HTTPDNS unreachable.
    @Loop private func cutHTTPDNS(_ machine: Machine) {
        machine.vendor.behaviour = .failure(.network("refused"))
    }

    @Test(arguments: [false, true]) @Loop
    func `HTTPDNS is down and LocalDNS is honest: its verified address is given for 30 s, and checked once in 10 min`(
        listed: Bool
    ) async throws {
        let machine = try machine(listed: listed, server: .honest)
        cutHTTPDNS(machine)
        for round in 1...20 {
            let reply = await machine.ask()
            #expect(reply.has(Self.given) && reply.waited == .zero && !reply.isStale)
            await machine.clock.advance(by: .milliseconds(26_900))
            #expect(await machine.ask().response?.kind == .cache)
            #expect(machine.localDNS.asked.count { $0.types == [.a] } == round)
            await machine.clock.advance(by: .milliseconds(3_100))
        }
        #expect(machine.handshake.attempts.count == 1)
        _ = await machine.ask()
        #expect(machine.handshake.attempts.count == 2)
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
            machine.localDNS.behaviour = .denial()
        } else {
            machine.vendor.behaviour = .unknown()
        }
        let reply = await machine.ask()
        #expect(reply.has("192.0.2.1") && reply.isStale)
    }

    @Test @Loop func `A14: an address that cannot be reached from here is not given as one without TLS`() async throws {
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

    @Test @Loop func `names without TLS are taken as they are, and bypassed ones are never checked`() async throws {
        let machine = try machine(.strict, unverified: [try Name("example.com")], server: .hijacker)
        cutHTTPDNS(machine)
        #expect(await machine.ask().has(Self.given))
        machine.localDNS.behaviour = .addresses("203.0.113.10")
        #expect(await machine.ask("printer").has("203.0.113.10"))
        #expect(machine.handshake.attempts.isEmpty)
    }

    @Test @Loop func `the check runs while HTTPDNS is awaited, and ends when that answers`() async throws {
        let machine = try machine(server: .init(.verified, after: .milliseconds(500)))
        machine.vendor.behaviour = .addresses("192.0.2.1", after: .milliseconds(700))
        #expect(await machine.ask().has("192.0.2.1"))
        await machine.clock.advance(by: .zero)
        #expect(machine.handshake.attempts.count == 1)
        #expect(machine.handshake.cancelled == 1)
    }

    @Test @Loop func `A16: an address given at 2.3 s that turns out to be another's is dropped at once`() async throws {
        let machine = try machine(
            server: .init(FakeHandshake.Server.hijacker.outcome, after: .milliseconds(1_200)))
        machine.localDNS.behaviour = .addresses(Self.given, after: .milliseconds(1_200))
        cutHTTPDNS(machine)
        let reply = await machine.ask()
        #expect(reply.has(Self.given) && reply.waited == .milliseconds(2_300))
        await machine.clock.advance(by: .milliseconds(90))
        #expect(try machine.hit() != nil)
        await machine.clock.advance(by: .milliseconds(10))
        #expect(try machine.hit() == nil)
        let again = await machine.ask()
        #expect(again.failure == .serverFailure && again.response?.extendedError?.code == .forgedAnswer)
    }

    @Test(arguments: [FakeHandshake.Server.honest, .refusing]) @Loop
    func `an address whose certificate turns out to be another's later is not given stale either`(
        before: FakeHandshake.Server
    ) async throws {
        let machine = try machine(server: before)
        cutHTTPDNS(machine)
        #expect(await machine.ask().has(Self.given))
        machine.handshake.servers[Self.given] = .hijacker
        await machine.clock.advance(by: .seconds(601))
        let reply = await machine.ask()
        #expect(reply.failure == .serverFailure && !reply.has(Self.given))
    }

    @Test @Loop func `what is detected as forged for another client's question is given to none`() async throws {
        // With a preferred family, clients with DO have flights and answers of their own.
        let machine = try machine(families: .ipv4, server: .refusing)
        cutHTTPDNS(machine)
        // Prefetched in the last tenth of its life, it is cached for longer than the verdict.
        for delay in [0, 28, 0, 12] {
            await machine.clock.advance(by: .seconds(delay))
            #expect(await machine.ask().has(Self.given))
        }
        #expect(await machine.ask().response?.kind == .cache)
        machine.handshake.servers[Self.given] = .hijacker
        #expect(await machine.ask(signed: true).failure == .serverFailure)
        #expect(await machine.ask().failure == .serverFailure)
    }

    // MARK: LocalDNS first

    @Test @Loop func `A13: LocalDNS first: a verified answer is given for 10 min, HTTPDNS not asked`() async throws {
        let machine = try machine(mode: .localDNSFirst, server: .init(.verified, after: .milliseconds(300)))
        machine.localDNS.behaviour = .addresses(Self.given, ttl: 86_400)
        let reply = await machine.ask()
        #expect(reply.has(Self.given) && reply.waited == .milliseconds(300))
        #expect(reply.packed?.longestTTL == 600)
        #expect(await machine.ask("www.example.com", .aaaa).packed?.counts == .init(authority: 1))
        await machine.clock.advance(by: .seconds(539))
        for type in [RecordType.a, .aaaa] {
            #expect(await machine.ask("www.example.com", type).response?.kind == .cache)
        }
        #expect(machine.vendor.asked.isEmpty)
    }

    @Test @Loop func `what is unverified is cached for 30 s, whatever shorter TTLs are raised to`() async throws {
        let machine = Machine(freshness: FreshnessPolicy(minTTL: .seconds(300)))
        cutHTTPDNS(machine)
        #expect(await machine.ask().has(Self.given))
        machine.vendor.behaviour = .addresses("192.0.2.1")
        await machine.clock.advance(by: .milliseconds(26_900))
        #expect(await machine.ask().has(Self.given))
        await machine.clock.advance(by: .milliseconds(3_100))
        #expect(await machine.ask().has("192.0.2.1"))
    }

    @Test @Loop func `LocalDNS first: what comes after a flush for the family that was cached is cached`() async throws
    {
        let machine = try machine(mode: .localDNSFirst, unverified: [try Name("example.com")], server: .silent)
        cutHTTPDNS(machine)
        let address = try #require(IPAddress(Self.given))
        let answer = Answer(name: .root, addresses: [address], ttl: 600)
        machine.localDNS.behaviour = .reply(after: .zero, [.a: .answer(answer)])
        _ = await machine.ask()
        machine.localDNS.slow = [.a: .milliseconds(100), .aaaa: .milliseconds(200)]
        machine.start("www.example.com", .aaaa)
        _ = await machine.resolver.remove(.all)
        await machine.clock.advance(by: .milliseconds(100))
        #expect(await machine.ask().response?.kind == .cache)
    }
}
