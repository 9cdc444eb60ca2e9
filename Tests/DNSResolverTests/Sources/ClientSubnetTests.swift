import DNSCache
import DNSResolver
import DNSWire
import TestSupport
import TestUpstreams
import Testing

/// An answer for one client network never reaches another: from the cache, when stale, and from a flight.
@Suite(.onLoop) struct ClientSubnetTests {
    /// Two of one network, one of another, and one whose address has no meaning elsewhere.
    private static let first = IPAddress.v4(0xc633_6407)
    private static let neighbour = IPAddress.v4(0xc633_6463)
    private static let second = IPAddress.v4(0xc633_6507)
    private static let local = IPAddress.v4(0x7f00_0001)

    @Loop private func machine(_ policy: RoutePolicy = RoutePolicy(), vendorNames: [Name] = [], preresolve: [Name] = [])
        -> Machine
    {
        Machine(
            policy: policy, preresolve: preresolve, scoping: ClientScoping(bits: 24), vendorNames: vendorNames)
    }

    /// Makes the vendor answer with one address from now on.
    @Loop private func tell(_ address: String, _ machine: Machine) { machine.vendor.behaviour = .addresses(address) }

    @Test @Loop func `each network is asked for once, and gets its own answer`() async {
        let machine = machine()
        tell("192.0.2.1", machine)
        #expect(await machine.ask(from: Self.first).has("192.0.2.1"))
        tell("192.0.2.2", machine)
        #expect(await machine.ask(from: Self.second).has("192.0.2.2"))
        #expect(await machine.ask(from: Self.first).has("192.0.2.1"))
        #expect(await machine.ask(from: Self.neighbour).has("192.0.2.1"))
        #expect(
            machine.vendor.asked.map { $0.clientNetwork?.description } == ["198.51.100.0/24", "198.51.101.0/24"])
    }

    @Test @Loop func `what is asked for no network is cached for those clients alone that have none`() async throws {
        let machine = machine()
        tell("192.0.2.9", machine)
        #expect(await machine.ask(from: Self.local).has("192.0.2.9"))
        tell("192.0.2.1", machine)
        #expect(await machine.ask(from: Self.first).has("192.0.2.1"))
        #expect(await machine.ask(from: Self.first, hidesNetwork: true).has("192.0.2.9"))
        #expect(await machine.ask(from: Self.local).has("192.0.2.9"))
        #expect(machine.vendor.asked.map { $0.clientNetwork?.description } == [nil, "198.51.100.0/24"])
        // The UDP threads answer without a scope what is the same for all clients: this is not.
        #expect(try machine.hit() == nil)
    }

    @Test @Loop func `a flight is joined by its own network alone`() async {
        let machine = machine()
        machine.vendor.behaviour = .addresses("192.0.2.1", after: .milliseconds(100))
        let replies = [Self.first, Self.neighbour, Self.second].map { client in
            let reply = machine.start(from: client)
            return reply
        }
        await machine.clock.advance(by: .milliseconds(200))
        #expect(replies.allSatisfy { $0.has("192.0.2.1") })
        #expect(machine.vendor.asked.count == 2)
    }

    @Test @Loop func `a stale answer goes to its own network alone`() async {
        let machine = machine()
        tell("192.0.2.1", machine)
        #expect(await machine.ask(from: Self.first).has("192.0.2.1"))
        await machine.clock.advance(by: .seconds(120))
        machine.failEverything()
        let own = await machine.ask(from: Self.neighbour)
        #expect(own.isStale)
        #expect(own.has("192.0.2.1"))
        #expect(await machine.ask(from: Self.second).failure == .serverFailure)
        #expect(await machine.ask(from: Self.local).failure == .serverFailure)
    }

    @Test @Loop func `what LocalDNS answers as fallback is cached by network, no name both ways`() async throws {
        let machine = machine()
        machine.vendor.behaviour = .failure(.network("refused"))
        #expect(await machine.ask(from: Self.first).has("203.0.113.9"))
        #expect(try machine.hit() == nil)
        #expect(await machine.ask(from: Self.neighbour).has("203.0.113.9"))
        #expect(machine.localDNS.asked.count { $0.types == [.a] } == 1)
        #expect(await machine.ask(from: Self.second).has("203.0.113.9"))
        #expect(machine.localDNS.asked.count { $0.types == [.a] } == 2)
    }

    @Test @Loop func `a name that no such provider is asked for is the same for all`() async throws {
        let machine = machine(
            RoutePolicy(bypass: [name("lan.example")]), vendorNames: [name("example.com")])
        for text in ["www.example.net", "www.lan.example"] {
            #expect(await machine.ask(text, from: Self.first).has("203.0.113.9"))
            #expect(await machine.ask(text, from: Self.second).has("203.0.113.9"))
            #expect(try machine.hit(text) != nil)
        }
        #expect(machine.localDNS.asked.count { $0.types == [.a] } == 2)
        #expect(machine.localDNS.asked.allSatisfy { $0.clientNetwork == nil })
    }

    @Test @Loop func `names looked up without a client are asked without a network`() async {
        let machine = machine(preresolve: [name("www.example.com")])
        machine.resolver.preresolve()
        await machine.clock.advance(by: .seconds(1))
        #expect(machine.vendor.asked.map(\.clientNetwork) == [nil])
        #expect(await machine.ask(from: Self.local).has("192.0.2.1"))
        #expect(machine.vendor.asked.count == 1)
        #expect(await machine.ask(from: Self.first).has("192.0.2.1"))
        #expect(machine.vendor.asked.count == 2)
    }

    @Test @Loop func `a name is flushed for all networks`() async {
        let machine = machine()
        for client in [Self.first, Self.second, Self.local] { _ = await machine.ask(from: client) }
        #expect(machine.memory.statistics.entries == 6)
        #expect(await machine.remove(.name(name("www.example.com"))) == 6)
        #expect(machine.memory.statistics.entries == 0)
    }
}

private func name(_ text: String) -> Name { (try? Name(text)) ?? .root }
