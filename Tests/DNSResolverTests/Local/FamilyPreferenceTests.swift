import DNSCache
import DNSWire
import TestSupport
import TestUpstreams
import Testing

@testable import DNSResolver

/// One family preferred to the other, or used alone.
@Suite(.onLoop) struct FamilyPreferenceTests {
    @Loop private func machine(_ families: FamilyPreference, mode: Mode = .httpdnsFirst) -> Machine {
        Machine(policy: RoutePolicy(mode: mode), local: LocalAnswers(families: families))
    }

    @Test @Loop func `ipv4-only: no upstream is asked for AAAA, the UDP threads answer it from then on`() async throws {
        let machine = machine(.ipv4Only)
        #expect(await machine.ask("www.example.com", .aaaa).isNoData)
        #expect(machine.vendor.asked.isEmpty)
        #expect(try machine.hit("www.example.com", .aaaa)?.authorities.map(\.type) == [.soa])
        #expect(await machine.ask().has("192.0.2.1"))
        #expect(machine.vendor.asked.map(\.types) == [[.a]])
    }

    @Test(arguments: [Mode.httpdnsFirst, .localDNSOnly]) @Loop
    func `ipv6-only holds for each route`(mode: Mode) async {
        let machine = machine(.ipv6Only, mode: mode)
        #expect(await machine.ask().isNoData)
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
                    type == .a ? reply.has(mode == .httpdnsFirst ? "192.0.2.1" : "203.0.113.9") : reply.isNoData)
            }
            #expect(try machine.hit() != nil)
            #expect(try machine.hit("www.example.com", .aaaa)?.answers.isEmpty == true)
            #expect(machine.vendor.asked.count + machine.localDNS.asked.count == 1)
        }
    }

    @Test(arguments: [Mode.httpdnsFirst, .localDNSOnly]) @Loop
    func `ipv4: a name with IPv6 addresses alone retains them`(mode: Mode) async throws {
        let machine = machine(.ipv4, mode: mode)
        machine.vendor.behaviour = .addresses("2001:db8::1")
        machine.localDNS.behaviour = .addresses("2001:db8::1")
        #expect(await machine.ask("www.example.com", .aaaa).has("2001:db8::1"))
        #expect(await machine.ask().isNoData)
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
        #expect(await machine.ask("www.example.com", .aaaa).isNoData)
    }

    @Test @Loop func `ipv4: no upstream is asked for AAAA once another policy wants none`() async {
        let machine = machine(.ipv4)
        machine.vendor.behaviour = .silence
        let reply = machine.start("www.example.com", .aaaa)
        await machine.clock.advance(by: .milliseconds(100))
        let asked = machine.vendor.asked.count
        machine.reload(local: LocalAnswers(families: .ipv4Only))
        await machine.clock.advance(by: .seconds(3))
        #expect(reply.isNoData)
        #expect(!machine.vendor.asked.dropFirst(asked).contains { $0.types.contains(.aaaa) })
    }

    @Test @Loop func `ipv4: IPv6 addresses that an older policy has cached are given no longer`() async {
        let machine = machine(.both)
        #expect(await machine.ask("www.example.com", .aaaa).has("2001:db8::1"))
        machine.reload(local: LocalAnswers(families: .ipv4))
        #expect(await machine.ask("www.example.com", .aaaa).isNoData)
        #expect(await machine.ask().has("192.0.2.1"))
    }

    @Test @Loop func `ipv4: IPv6 addresses from before the start are given no longer`() async throws {
        let machine = machine(.ipv4)
        let name = try Name("www.example.com")
        let answer = Answer(name: name, addresses: [.v6(1)], ttl: 600)
        _ = machine.store.keep(answer, for: machine.resolver.flights.key(name, .aaaa), .aaaa, .provider(index: 0), "")
        machine.store.beginGeneration()
        #expect(await machine.ask("www.example.com", .aaaa).isNoData)
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
