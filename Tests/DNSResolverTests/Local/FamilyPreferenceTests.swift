import DNSCache
import DNSWire
import Scheduling
import TestSupport
import TestUpstreams
import Testing

@testable import DNSResolver

/// One family preferred to the other, or used alone.
@Suite(.onLoop)
struct FamilyPreferenceTests {
    private typealias Machine = ResolverTests.Machine

    @Loop
    private func machine(_ families: FamilyPreference, mode: Mode = .httpdnsFirst) -> Machine {
        Machine(policy: RoutePolicy(mode: mode), local: LocalAnswers(families: families))
    }

    /// Whether the response is NODATA.
    @Loop
    private func isEmpty(_ reply: ResolverTests.Reply) -> Bool {
        reply.packed?.responseCode == .noError && reply.packed?.counts == .init(authority: 1)
    }

    @Test @Loop func `ipv4-only: no upstream is asked for AAAA, and the UDP threads answer it after the first time`()
        async throws
    {
        let machine = machine(.ipv4Only)
        #expect(await isEmpty(machine.ask("www.example.com", .aaaa)))
        #expect(machine.vendor.asked.isEmpty)
        #expect(try machine.hit("www.example.com", .aaaa)?.authorities.map(\.type) == [.soa])
        #expect(await machine.ask().has("192.0.2.1"))
        #expect(machine.vendor.asked.map(\.types) == [[.a]])
    }

    @Test(arguments: [Mode.httpdnsFirst, .localDNSOnly]) @Loop
    func `ipv6-only holds for each route`(mode: Mode) async {
        let machine = machine(.ipv6Only, mode: mode)
        #expect(await isEmpty(machine.ask()))
        #expect(await machine.ask("www.example.com", .aaaa).has(mode == .httpdnsFirst ? "2001:db8::1" : "2001:db8::9"))
        #expect((machine.vendor.asked + machine.localDNS.asked).map(\.types) == [[.aaaa]])
    }

    @Test(arguments: [FamilyPreference.ipv4Only, .ipv4]) @Loop
    func `a client that checks signatures gets what there is`(families: FamilyPreference) async {
        let machine = machine(families)
        #expect(await machine.ask("www.example.com", .aaaa, signed: true).has("2001:db8::1"))
    }

    @Test(arguments: [Mode.httpdnsFirst, .localDNSOnly]) @Loop
    func `ipv4: a name with IPv4 addresses has no AAAA, whichever is asked first`(mode: Mode) async throws {
        for first in [RecordType.a, .aaaa] {
            let machine = machine(.ipv4, mode: mode)
            for type in [first, first.otherFamily] {
                let reply = await machine.ask("www.example.com", type)
                #expect(
                    type == .a ? reply.has(mode == .httpdnsFirst ? "192.0.2.1" : "203.0.113.9") : isEmpty(reply))
            }
            #expect(try machine.hit() != nil)
            #expect(try machine.hit("www.example.com", .aaaa)?.answers.isEmpty == true)
            #expect(machine.vendor.asked.count + machine.localDNS.asked.count == 1)
        }
    }

    @Test @Loop func `ipv4 holds for what LocalDNS answers first`() async throws {
        for first in [RecordType.a, .aaaa] {
            let machine = Machine(
                policy: RoutePolicy(mode: .localDNSFirst), rule: CertificateRule(.lenient),
                local: LocalAnswers(families: .ipv4))
            for address in ["203.0.113.9", "2001:db8::9"] { machine.handshake.servers[address] = .honest }
            machine.localDNS.behaviour = .addresses("203.0.113.9", "2001:db8::9", after: .milliseconds(20))
            let replies = (0..<2).map { _ in ResolverTests.Reply(clock: machine.clock) }
            // Both at once, as the C library asks.
            machine.start("www.example.com", first, replies[0])
            machine.start("www.example.com", first.otherFamily, replies[1])
            await machine.clock.advance(by: .milliseconds(20))
            #expect((first == .a ? replies[0] : replies[1]).has("203.0.113.9"))
            #expect(isEmpty(first == .a ? replies[1] : replies[0]))
            #expect(try machine.hit("www.example.com", .aaaa)?.answers.isEmpty == true)
        }
    }

    @Test @Loop func `ipv4: AAAA that LocalDNS returns first is suppressed if a slower A has addresses`() async throws {
        let machine = Machine(
            policy: RoutePolicy(mode: .localDNSFirst), rule: CertificateRule(.lenient),
            local: LocalAnswers(families: .ipv4))
        machine.localDNS.behaviour = .addresses("203.0.113.9", "2001:db8::9")
        machine.localDNS.slow = [.a: .milliseconds(450)]
        for address in ["203.0.113.9", "2001:db8::9"] { machine.handshake.servers[address] = .honest }
        machine.vendor.behaviour = .silence
        let reply = ResolverTests.Reply(clock: machine.clock)
        machine.start("www.example.com", .aaaa, reply)
        await machine.clock.advance(by: .milliseconds(300))
        #expect(machine.localDNS.asked.map(\.types) == [[.a], [.aaaa]])
        await machine.clock.advance(by: .milliseconds(150))
        #expect(isEmpty(reply))
        #expect(try machine.hit() != nil)
        #expect(try machine.hit("www.example.com", .aaaa)?.answers.isEmpty == true)
    }

    @Test(arguments: [Mode.httpdnsFirst, .localDNSOnly]) @Loop
    func `ipv4: a name with IPv6 addresses alone retains them`(mode: Mode) async throws {
        let machine = machine(.ipv4, mode: mode)
        machine.vendor.behaviour = .addresses("2001:db8::1")
        machine.localDNS.behaviour = .addresses("2001:db8::1")
        #expect(await machine.ask("www.example.com", .aaaa).has("2001:db8::1"))
        #expect(await isEmpty(machine.ask()))
        #expect(try machine.hit("www.example.com", .aaaa)?.answers.count == 1)
    }

    @Test @Loop func `ipv4: IPv6 addresses are suppressed as soon as the name has IPv4 addresses`() async throws {
        let machine = machine(.ipv4, mode: .localDNSOnly)
        machine.localDNS.behaviour = .reply(
            after: .zero,
            [
                .a: .answer(.negative(name: .root, ttl: 30)),
                .aaaa: .answer(Answer(name: .root, addresses: [.v6(1)], ttl: 600)),
            ])
        #expect(await machine.ask("www.example.com", .aaaa).packed?.counts.answer == 1)
        await machine.clock.advance(by: .seconds(31))
        machine.localDNS.behaviour = .addresses("203.0.113.9", "2001:db8::9")
        #expect(await machine.ask().has("203.0.113.9"))
        #expect(try machine.hit("www.example.com", .aaaa) == nil)
        #expect(await isEmpty(machine.ask("www.example.com", .aaaa)))
    }

    @Test(arguments: [60, 0] as [UInt32]) @Loop
    func `ipv4: a slow A does not take the time of AAAA, also if that may not be cached`(ttl: UInt32) async {
        let machine = machine(.ipv4, mode: .localDNSOnly)
        machine.localDNS.behaviour = .addresses("2001:db8::9", ttl: ttl)
        machine.localDNS.slow = [.a: .seconds(10)]
        let reply = await machine.ask("www.example.com", .aaaa)
        #expect(reply.has("2001:db8::9"))
        #expect((reply.waited ?? .seconds(9)) <= Budget.answer)
    }

    @Test(arguments: [false, true]) @Loop
    func `ipv6: an A of LocalDNS that came while AAAA was awaited is given unless it is forged`(
        isForged: Bool
    ) async throws {
        let machine = Machine(
            policy: RoutePolicy(mode: .localDNSFirst, protect: NameList([try Name("example.com")])),
            rule: CertificateRule(.strict),
            local: LocalAnswers(families: .ipv6), answersBothFamilies: false)
        machine.handshake.servers["203.0.113.9"] = isForged ? .hijacker : .honest
        (machine.vendor.behaviour, machine.localDNS.behaviour) = (.silence, .addresses("203.0.113.9", ttl: 0))
        machine.localDNS.slow = [.aaaa: .seconds(10)]
        let reply = await machine.ask()
        #expect(!machine.handshake.attempts.isEmpty)
        #expect(reply.response != nil && reply.has("203.0.113.9") != isForged)
    }

    @Test @Loop func `ipv4: no upstream is asked for AAAA once another policy wants none`() async {
        let machine = machine(.ipv4)
        machine.vendor.behaviour = .silence
        let reply = ResolverTests.Reply(clock: machine.clock)
        machine.start("www.example.com", .aaaa, reply)
        await machine.clock.advance(by: .milliseconds(100))
        let asked = machine.vendor.asked.count
        machine.resolver.replace(
            with: ResolverPolicy(
                localAnswers: LocalAnswers(families: .ipv4Only), routes: machine.policy.routes,
                lines: machine.policy.lines, sources: machine.policy.sources), freshness: FreshnessPolicy(),
            isNewGeneration: true)
        await machine.clock.advance(by: .seconds(3))
        #expect(isEmpty(reply))
        #expect(!machine.vendor.asked.dropFirst(asked).contains { $0.types.contains(.aaaa) })
    }

    @Test @Loop func `ipv4: when A fails AAAA is answered`() async {
        let machine = machine(.ipv4, mode: .localDNSOnly)
        machine.localDNS.behaviour = .reply(
            after: .zero,
            [
                .a: .failure(.responseCode(.serverFailure)),
                .aaaa: .answer(Answer(name: .root, addresses: [.v6(1)], ttl: 600)),
            ])
        #expect(await machine.ask("www.example.com", .aaaa).packed?.counts.answer == 1)
    }

    @Test @Loop func `ipv4: beside an unverified A alone AAAA is asked for, and not awaited unasked`() async {
        let machine = Machine(
            policy: RoutePolicy(mode: .httpdnsFirst), rule: CertificateRule(.lenient),
            local: LocalAnswers(families: .ipv4), answersBothFamilies: false)
        machine.vendor.behaviour = .failure(.responseCode(.serverFailure))
        machine.localDNS.behaviour = .addresses("203.0.113.9")
        let reply = await machine.ask()
        #expect(reply.has("203.0.113.9"))
        #expect((reply.waited ?? .seconds(9)) <= .milliseconds(300))
        #expect(machine.vendor.asked.contains { $0.types.contains(.aaaa) })
    }

    @Test @Loop func `ipv4: IPv6 addresses that an older policy has cached are given no longer`() async {
        let machine = machine(.both)
        #expect(await machine.ask("www.example.com", .aaaa).has("2001:db8::1"))
        machine.resolver.replace(
            with: ResolverPolicy(
                localAnswers: LocalAnswers(families: .ipv4), routes: machine.policy.routes,
                lines: machine.policy.lines, sources: machine.policy.sources), freshness: FreshnessPolicy(),
            isNewGeneration: true)
        #expect(await isEmpty(machine.ask("www.example.com", .aaaa)))
        #expect(await machine.ask().has("192.0.2.1"))
    }

    @Test @Loop func `static names, and localhost, have both families`() async {
        var presets = Presets()
        presets.add((try? Name("www.example.com")) ?? .root, addresses: [.v4(1), .v6(1)])
        for families in [FamilyPreference.ipv4, .ipv4Only] {
            let machine = Machine(local: LocalAnswers(presets: presets, families: families))
            #expect(await machine.ask("www.example.com", .aaaa).packed?.counts.answer == 1)
            #expect(await machine.ask("localhost", .aaaa).packed?.counts.answer == 1)
        }
    }
}
