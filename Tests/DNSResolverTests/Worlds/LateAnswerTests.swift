import DNSCache
import DNSWire
import TestSupport
import TestUpstreams
import Testing

@testable import DNSResolver

/// Worlds in which a client could get no answer, or a late one, from a question to its answer.
@Suite(.onLoop) struct LateAnswerTests {
    private static let given = "203.0.113.9"

    /// When after the probe before its return the provider answers again.
    @Test(arguments: [false, true], [1, 500]) @Loop
    func `B4: after an outage of five minutes names are right within a second of the provider's return`(
        listed: Bool, delay: Int
    ) async throws {
        let machine = Machine(
            policy: listed ? RoutePolicy(protect: [try Name("example.com")]) : RoutePolicy(),
            check: .auto)
        machine.failEverything()
        for _ in 0..<300 {
            _ = await machine.ask()
            await machine.clock.advance(by: .seconds(1))
        }
        let probes = machine.vendor.probes.count
        for _ in 0..<2_000 where machine.vendor.probes.count == probes {
            machine.start()
            await machine.clock.advance(by: .milliseconds(1))
        }
        #expect(machine.vendor.probes.count == probes + 1)
        await machine.clock.advance(by: .milliseconds(delay))
        machine.vendor.behaviour = .addresses("192.0.2.1")
        let back = machine.clock.now
        var reply = await machine.ask()
        while !reply.has("192.0.2.1"), machine.clock.now - back < .seconds(9) {
            await machine.clock.advance(by: .milliseconds(10))
            reply = await machine.ask()
        }
        #expect(machine.clock.now - back <= .seconds(1))
    }

    @Test(arguments: [true, false]) @Loop
    func `a client whose query had waited gets at its end the address that is verified, and no other`(
        isHonest: Bool
    ) async {
        let machine = Machine(check: .auto)
        machine.vendor.behaviour = .silence
        machine.vendor.probeBehaviour = .addresses("192.0.2.1")
        machine.handshake.servers[Self.given] = isHonest ? .honest : .refusing
        let first = machine.start()
        await machine.clock.advance(by: .milliseconds(500))
        let late = machine.start(after: .seconds(2))
        await machine.clock.advance(by: .milliseconds(299))
        #expect(late.response == nil)
        await machine.clock.advance(by: .milliseconds(1))
        #expect(late.has(Self.given) == isHonest)
        #expect(late.failure == (isHonest ? nil : .serverFailure))
        #expect(first.response == nil)
        await machine.clock.advance(by: .milliseconds(1_500))
        #expect(first.has(Self.given))
    }

    @Test(arguments: ["SRV", "A", "TXT"]) @Loop
    func `B14: of a search domain below local LocalDNS is asked, and its answer given`(type: String) async throws {
        let type = try #require(RecordType(type))
        let machine = Machine(policy: RoutePolicy(searchDomains: [try Name("corp.local")]))
        let name = try Name("_ldap._tcp.corp.local")
        let record = Record(name: name, type: type, ttl: 60, rdata: [10, 0, 0, 9])
        machine.localDNS.behaviour = .reply(after: .zero, [type: .answer(Answer(answers: [record]))])
        #expect(await machine.ask(name.description, type).packed?.counts == .init(answer: 1))
        #expect(machine.vendor.asked.isEmpty)
        // Other names below it are those of multicast DNS.
        #expect(await machine.ask("printer.local", type).packed?.responseCode == .nameError)
    }

    @Test(arguments: ["9.0.0.10.in-addr.arpa", "_sip._udp.pbx.lan", "nas.lan"], ["PTR", "SRV", "A", "TXT", "HTTPS"])
    func `B15: a name of the network is LocalDNS's in every type`(name: String, type: String) throws {
        #expect(RoutePolicy().route(for: try Name(name), try #require(RecordType(type))) == .bypass)
    }

    @Test(arguments: ["nas.lan", "9.0.0.10.in-addr.arpa", "ipv4only.arpa", "nas"])
    func `B16: an entry of protect for the root takes no name of the network, and no portal check`(name: String) throws
    {
        #expect(RoutePolicy(protect: [.root]).route(for: try Name(name)) == .bypass)
        #expect(RoutePolicy(protect: [.root]).route(for: try Name("captive.apple.com")) == .portal)
        #expect(!RoutePolicy(protect: [.root]).decision(on: try Name(name)).reason.contains("route.protect"))
        #expect(RoutePolicy(protect: [.root]).route(for: try Name("www.example.com")) == .protect(explicit: true))
    }

    @Test(arguments: [".", "example", "a.example"]) @Loop
    func `B17: keys above a listed name are LocalDNS's where no provider can answer that type`(name: String)
        async throws
    {
        let dnskey = try #require(RecordType("DNSKEY"))
        let machine = Machine(policy: RoutePolicy(protect: [try Name("a.example")]))
        let record = Record(name: try Name(name), type: dnskey, ttl: 60, rdata: [1, 1, 3, 13, 0])
        machine.localDNS.behaviour = .reply(after: .zero, [dnskey: .answer(Answer(answers: [record]))])
        #expect(await machine.ask(name, dnskey).packed?.counts == .init(answer: 1))
        #expect(machine.vendor.asked.isEmpty)
    }

    @Test(arguments: [FakeHandshake.Server.honest, .refusing], [UInt32(0), 5, 30, 600]) @Loop
    func `B23: LocalDNS's answer lives as long as its TTL, for 30 s at most`(
        server: FakeHandshake.Server, ttl: UInt32
    ) async {
        let machine = Machine(check: .auto)
        machine.vendor.behaviour = .failure(.network("refused"))
        machine.localDNS.behaviour = .addresses(Self.given, ttl: ttl)
        machine.handshake.servers[Self.given] = server
        let reply = await machine.ask()
        #expect(reply.has(Self.given) && reply.packed?.longestTTL == min(ttl, 30))
        // The user has logged in at the hotel. With TTL 0 an answer is that of its race, which is shared for 1.9 s at most.
        machine.localDNS.behaviour = .addresses("198.51.100.7")
        await machine.clock.advance(by: .milliseconds(ttl == 0 ? 2_000 : 1_000 * min(Int(ttl), 30)))
        machine.handshake.servers["198.51.100.7"] = server
        #expect(await machine.ask().has("198.51.100.7"))
    }

    @Test @Loop func `B24: while a provider says "not so fast" to all LocalDNS's answers are given at once`() async {
        let machine = Machine()
        machine.vendor.behaviour = .failure(.busy("HTTP 429", retryAfter: .seconds(3_600)))
        _ = await machine.ask("first.example.com")
        await machine.clock.advance(by: .seconds(1))
        for number in 0..<60 {
            let reply = await machine.ask("n\(number).example.com")
            #expect(reply.has(Self.given) && reply.waited == .zero)
            await machine.clock.advance(by: .seconds(59))
        }
        #expect(machine.vendor.asked.count == 1)
    }

    @Test(arguments: [false, true]) @Loop
    func `B25: after a reload that adds a suffix to bypass other names have their answers, fresh and stale`(
        isStale: Bool
    ) async throws {
        let machine = Machine(check: .strict)
        #expect(await machine.ask().has("192.0.2.1"))
        if isStale { await machine.clock.advance(by: .seconds(70)) }
        machine.failEverything()
        let asked = machine.vendor.asked.count
        machine.reload(routes: RoutePolicy(bypass: [try Name("corp.example")]))
        let reply = await machine.ask()
        #expect(reply.has("192.0.2.1") && reply.isStale == isStale)
        #expect(machine.vendor.asked.count == asked + (isStale ? 1 : 0))
    }
}
