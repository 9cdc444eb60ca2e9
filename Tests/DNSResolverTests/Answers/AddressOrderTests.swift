import DNSCache
import DNSWire
import TestSupport
import TestUpstreams
import Testing

@testable import DNSResolver

/// Which answers' addresses go out in turn.
@Suite(.onLoop) struct AddressOrderTests {
    private static let texts = ["192.0.2.1", "192.0.2.2", "192.0.2.3"]

    @Loop private func machine(rotates: Bool = true, local: LocalAnswers = LocalAnswers()) -> Machine {
        let machine = Machine(local: local)
        machine.store.rotatesAddresses = rotates
        machine.vendor.behaviour = .addresses("192.0.2.1", "192.0.2.2", "192.0.2.3", "2001:db8::1")
        return machine
    }

    private func presets(_ name: String) throws -> Presets {
        var presets = Presets()
        presets.add(try Name(name), addresses: Self.texts.compactMap { IPAddress($0) })
        return presets
    }

    @Test @Loop func `addresses of a provider go out in turn, from the first answer on`() async throws {
        let machine = machine()
        #expect(await machine.ask().packed?.rotates == true)
        #expect(await machine.ask("www.example.com", .aaaa).packed?.rotates == false)
        #expect(try machine.hit()?.answers.count == 3)
        #expect(await machine.ask().packed?.rotates == true)
    }

    @Test @Loop func `addresses of LocalDNS go out in turn`() async {
        let machine = machine()
        machine.vendor.behaviour = .failure(.network("refused"))
        machine.localDNS.behaviour = .addresses("203.0.113.9", "203.0.113.10")
        #expect(await machine.ask().packed?.rotates == true)
    }

    @Test @Loop func `addresses of a preset go out as they are written`() async throws {
        let always = machine(local: LocalAnswers(presets: try presets("www.example.com")))
        #expect(await always.ask().packed?.rotates == false)
        #expect(try always.hit()?.answers.compactMap(\.address?.description) == Self.texts)
        let last = Machine(lastResort: try presets("www.example.com"))
        last.failEverything()
        #expect(await last.ask().packed?.rotates == false)
    }

    @Test @Loop func `an answer with a reported address keeps its order, in which that one is last`() async {
        let machine = machine()
        machine.badAddresses.report(IPAddress("192.0.2.1") ?? .v4(0))
        let reply = await machine.ask()
        #expect(reply.packed?.rotates == false)
        #expect(reply.packed?.addresses.map(\.description) == ["192.0.2.2", "192.0.2.3", "192.0.2.1"])
        // Another name's do not suffer from it.
        machine.vendor.behaviour = .addresses("192.0.2.2", "192.0.2.3")
        #expect(await machine.ask("other.example.com").packed?.rotates == true)
    }

    @Test @Loop func `a reload turns it off and on for what is cached, and nothing is asked again`() async {
        let machine = machine()
        #expect(await machine.ask().packed?.rotates == true)
        machine.store.rotatesAddresses = false
        machine.reload()
        #expect(await machine.ask().packed?.rotates == false)
        #expect(await machine.ask().packed?.rotates == false)
        machine.store.rotatesAddresses = true
        machine.reload()
        #expect(await machine.ask().packed?.rotates == true)
        #expect(machine.vendor.asked.count == 1)
    }
}
