import DNSCache
import DNSWire
import TestSupport
import TestUpstreams
import Testing

@testable import DNSResolver

/// Names within a search domain of the network that the providers deny.
@Suite(.onLoop) struct SearchDomainTests {
    /// The address that LocalDNS gives.
    private static let given = "10.9.8.7"

    /// A machine whose provider says that no name exists, for an hour.
    @Loop private func machine(
        _ setting: RaceRules.CertificateCheck = .auto, listed: Bool = false, mode: Mode = .httpdnsFirst,
        searchDomains: [String] = ["example.com"], server: FakeHandshake.Server = .hijacker
    ) throws -> Machine {
        let machine = Machine(
            policy: try Self.routes(mode, listed: listed, searchDomains), check: setting)
        machine.handshake.servers[Self.given] = server
        machine.localDNS.behaviour = .addresses(Self.given, ttl: 600)
        machine.vendor.behaviour = .denial(ttl: 3_600)
        return machine
    }

    private static func routes(_ mode: Mode, listed: Bool, _ searchDomains: [String]) throws -> RoutePolicy {
        RoutePolicy(
            mode: mode, protect: listed ? NameList([try Name("example.com")]) : [],
            searchDomains: try searchDomains.map { try Name($0) })
    }

    // MARK: Honest networks

    @Test(arguments: [FakeHandshake.Server.hijacker, .refusing, .silent]) @Loop
    func `B18: LocalDNS's addresses are given at once, and no certificate is asked of them`(
        server: FakeHandshake.Server
    ) async throws {
        let machine = try machine(server: server)
        let reply = await machine.ask()
        #expect(reply.has(Self.given) && reply.waited == .zero)
        #expect(machine.handshake.attempts.isEmpty && machine.checks.journal.total == 0)
        await machine.clock.advance(by: .milliseconds(26_900))
        #expect(try machine.hit() != nil)
        await machine.clock.advance(by: .milliseconds(3_100))
        #expect(try machine.hit() == nil)
        #expect(await machine.ask().has(Self.given))
        #expect(machine.vendor.asked.count == 2)
    }

    @Test @Loop func `LocalDNS's addresses are given for 30 s, and never stale`() async throws {
        let machine = try machine()
        _ = await machine.ask()
        machine.failEverything()
        await machine.clock.advance(by: .milliseconds(26_900))
        let fresh = await machine.ask()
        #expect(fresh.has(Self.given) && fresh.response?.kind == .cache)
        await machine.clock.advance(by: .milliseconds(3_100))
        #expect(await machine.ask().failure == .serverFailure)
    }

    @Test(arguments: [RaceRules.CertificateCheck.auto, .strict]) @Loop
    func `a host of a listed domain that the provider does not know has its certificate`(
        setting: RaceRules.CertificateCheck
    ) async throws {
        let machine = try machine(setting, listed: setting == .auto, server: .honest)
        #expect(await machine.ask().has(Self.given))
        #expect(await machine.ask().response?.kind == .cache)
    }

    @Test @Loop func `a search domain of one label is the network's where network_names has it`() async throws {
        let machine = Machine(
            policy: RoutePolicy(searchDomains: [try Name("lan")], networkNames: [try Name("lan")]))
        #expect(machine.policy.routes.isInSearchDomain(try Name("nas.lan")))
    }

    // MARK: Hijackers

    /// Wrong or no certificate, or nothing in time.
    @Test(
        arguments: [FakeHandshake.Server.hijacker, .refusing, .silent, .plain],
        [RaceRules.CertificateCheck.auto, .strict]) @Loop
    func `A11: a search list adds no host without a certificate to a domain that a list has`(
        server: FakeHandshake.Server, setting: RaceRules.CertificateCheck
    ) async throws {
        let machine = try machine(setting, listed: setting == .auto, server: server)
        let reply = await machine.ask("wpad.example.com")
        #expect(reply.packed?.responseCode == .nameError)
    }

    @Test(arguments: ["com", "COM", "."], [false, true]) @Loop
    func `A11: a search domain of one label adds no host`(domain: String, listed: Bool) async throws {
        let machine = try machine(listed: listed, searchDomains: [domain], server: .honest)
        #expect(await machine.ask("evil.example.com").packed?.responseCode == .nameError)
        #expect(machine.localDNS.asked.isEmpty)
    }

    // MARK: Cached denials

    @Test(arguments: [false, true]) @Loop
    func `a denial from another network does not keep LocalDNS's addresses away`(listed: Bool) async throws {
        let machine = try machine(listed: listed, searchDomains: [], server: listed ? .honest : .hijacker)
        #expect(await machine.ask().packed?.responseCode == .nameError)
        let routes = try Self.routes(.httpdnsFirst, listed: listed, ["example.com"])
        machine.reload(routes: routes)
        machine.resolver.networkChanged()
        let reply = await machine.ask()
        #expect(reply.has(Self.given) && !reply.isStale)
        #expect(await machine.ask().response?.kind == .cache)
    }

    @Test(arguments: [false, true]) @Loop
    func `a denial that LocalDNS did not answer is asked for again after 30 s`(isSilent: Bool) async throws {
        let machine = try machine()
        machine.localDNS.behaviour = isSilent ? .silence : .failure(.responseCode(.serverFailure))
        let denied = await machine.ask()
        #expect(denied.packed?.responseCode == .nameError)
        #expect(denied.waited == (isSilent ? .milliseconds(900) : .zero))
        machine.localDNS.behaviour = .addresses(Self.given)
        await machine.clock.advance(by: .milliseconds(26_900))
        #expect(await machine.ask().packed?.responseCode == .nameError)
        await machine.clock.advance(by: .milliseconds(3_100))
        let reply = await machine.ask()
        #expect(reply.has(Self.given) && !reply.isStale)
    }

    @Test @Loop func `a denial that LocalDNS confirms is cached for its TTL`() async throws {
        let machine = try machine()
        machine.localDNS.behaviour = .denial(ttl: 30)
        #expect(await machine.ask().packed?.responseCode == .nameError)
        await machine.clock.advance(by: .seconds(3_000))
        #expect(await machine.ask().response?.kind == .cache)
        #expect(machine.vendor.asked.count == 1)
    }
}
