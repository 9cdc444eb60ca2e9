import DNSCache
import DNSResolver
import DNSWire
import TestSupport
import TestUpstreams
import Testing

/// Names that belong to the network, from a question to its answer.
@Suite(.onLoop) struct NetworkNamesTests {
    @Test @Loop func `LocalDNS answers a name of the network, plain and whole, and no vendor is asked`() async throws {
        let machine = Machine(check: .strict)
        let record = Record(name: try Name("nas.lan"), address: .v4(0x0a00_0009), ttl: 86_400)
        machine.localDNS.behaviour = .reply(after: .zero, [.a: .answer(Answer(answers: [record]))])
        #expect(await machine.ask("nas.lan").has("10.0.0.9"))
        #expect(try machine.hit("nas.lan")?.answers.map(\.ttl) == [86_400])
        #expect(machine.vendor.asked.isEmpty)
    }

    @Test @Loop func `B13: without LocalDNS it does not exist, and is asked for again each time`() async throws {
        let machine = Machine()
        machine.localDNS.behaviour = .failure(.noServer("localdns has no server"))
        let reply = await machine.ask("nas.home.arpa")
        #expect(reply.packed?.responseCode == .nameError)
        #expect(try machine.hit("nas.home.arpa") == nil)
        machine.localDNS.behaviour = .addresses("203.0.113.9", "2001:db8::9")
        #expect(await machine.ask("nas.home.arpa").has("203.0.113.9"))
        #expect(machine.vendor.asked.isEmpty)
    }

    @Test @Loop func `where LocalDNS fails otherwise, the answer is SERVFAIL`() async throws {
        let machine = Machine()
        machine.localDNS.behaviour = .failure(.timeout)
        #expect(await machine.ask("nas.home.arpa").failure == .serverFailure)
    }

    @Test @Loop func `without LocalDNS what it answered before is used`() async throws {
        let machine = Machine()
        _ = await machine.ask("nas.lan")
        machine.localDNS.behaviour = .failure(.noServer("localdns has no server"))
        await machine.clock.advance(by: .seconds(301))
        #expect(await machine.ask("nas.lan").has("203.0.113.9"))
    }

    @Test @Loop func `a name that a list gives to the network has no such answer`() async throws {
        let machine = Machine(policy: RoutePolicy(bypass: [try Name("lan")]))
        machine.localDNS.behaviour = .failure(.noServer("localdns has no server"))
        #expect(await machine.ask("nas.lan").failure == .serverFailure)
    }
}
