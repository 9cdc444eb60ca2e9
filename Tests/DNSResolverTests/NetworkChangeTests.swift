import DNSCache
import DNSWire
import TestSupport
import TestUpstreams
import Testing

@testable import DNSResolver

/// A machine moves from one network to another.
@Suite(.onLoop) struct NetworkChangeTests {
    /// Whether the UDP threads would answer from the cache without asking the loop.
    @Loop private func isHit(_ machine: Machine, _ name: String = "www.example.com") throws -> Bool {
        let key = QueryKey(
            Question(name: try Name(name), type: .a), dnssecOK: false, checkingDisabled: false)
        return machine.memory.entry(for: key)?.generation == machine.generation.current
    }

    @Test @Loop func `the first question after a change gets the new answer, later ones the cached`() async throws {
        let machine = Machine()
        #expect(await machine.ask().has("192.0.2.1"))
        #expect(try isHit(machine))
        machine.resolver.networkChanged()
        #expect(try !isHit(machine))
        machine.vendor.behaviour = .addresses("192.0.2.2")
        let reply = await machine.ask()
        #expect(reply.has("192.0.2.2") && !reply.isStale)
        #expect(try isHit(machine))
        #expect(await machine.ask().has("192.0.2.2"))
        #expect(machine.vendor.asked.count == 2)
    }

    @Test @Loop func `while nothing answers yet, the answers of the old network are served stale after 200 ms`() async {
        let machine = Machine()
        #expect(await machine.ask().has("192.0.2.1"))
        machine.silenceEverything()
        machine.resolver.networkChanged()
        let reply = await machine.ask()
        #expect(reply.has("192.0.2.1") && reply.isStale)
        #expect(reply.waited == .milliseconds(200))
        #expect(reply.response?.extendedError?.code == .staleAnswer)
    }

    @Test @Loop func `a name that failed while the vendor was in backoff begins the probe that ends it`() async {
        let machine = Machine()
        machine.failEverything()
        // Until the name's own pause is 5 s.
        for _ in 0..<12 {
            _ = await machine.ask()
            await machine.clock.advance(by: .seconds(1))
        }
        machine.vendor.behaviour = .addresses("192.0.2.1")
        await machine.clock.advance(by: .seconds(1))
        #expect(await machine.ask().has("192.0.2.1"))
    }

    @Test @Loop func `what failed in the old network is asked again at once`() async {
        let machine = Machine()
        machine.failEverything()
        #expect(await machine.ask().failure == .serverFailure)
        machine.vendor.behaviour = .addresses("192.0.2.1")
        #expect(await machine.ask().failure == .serverFailure)
        machine.vendor.health.networkChanged(at: machine.clock.now)
        machine.resolver.networkChanged()
        let reply = await machine.ask()
        #expect(reply.has("192.0.2.1"))
        #expect(reply.waited == .zero)
    }

    @Test @Loop
    func `B26: a waiter of a flight of the old network gets the answer of the new one, as soon as it comes`() async {
        let machine = Machine()
        machine.silenceEverything()
        let waiting = machine.start()
        await machine.clock.advance(by: .seconds(1))
        machine.vendor.behaviour = .addresses("192.0.2.2")
        machine.vendor.health.networkChanged(at: machine.clock.now)
        machine.resolver.networkChanged()
        await machine.clock.advance(by: .milliseconds(10))
        #expect(waiting.has("192.0.2.2"))
        #expect(waiting.waited == .seconds(1))
        #expect(await machine.ask().has("192.0.2.2"))
    }

    @Test @Loop func `B26: a network that changes all the time delays no client past its deadline`() async {
        let machine = Machine()
        machine.silenceEverything()
        let waiting = machine.start()
        for _ in 0..<30 {
            await machine.clock.advance(by: .milliseconds(100))
            machine.resolver.networkChanged()
        }
        #expect(waiting.failure == .serverFailure)
        #expect(waiting.waited == Budget.answer)
    }

    @Test(arguments: [true, false], [true, false]) @Loop
    func `what LocalDNS answered for a protected name is stale after a change of network if it was proved, else gone`(
        isVerified: Bool, isPolicy: Bool
    ) async {
        let machine = Machine(check: .auto)
        machine.handshake.servers["203.0.113.9"] = isVerified ? .honest : .refusing
        machine.vendor.behaviour = .failure(.network("refused"))
        #expect(await machine.ask().has("203.0.113.9"))
        machine.failEverything()
        if isPolicy {
            machine.resolver.turn(on: false)
            machine.resolver.turn(on: true)
        } else {
            machine.resolver.networkChanged()
        }
        let reply = await machine.ask()
        #expect(reply.isStale == (isVerified && !isPolicy))
        #expect((reply.failure == .serverFailure) != reply.isStale)
    }

    @Test @Loop func `"no address of this family" made by a rule stays while its time lasts, and ends with it`() async {
        let machine = Machine()
        machine.vendor.behaviour = .reply(
            after: .zero,
            [
                .a: .answer(Answer(name: .root, addresses: [.v4(0xc000_0201)], ttl: 60)),
                .aaaa: .failure(.responseCode(.serverFailure)),
            ])
        machine.localDNS.behaviour = .failure(.network("unreachable"))
        #expect(await machine.ask().has("192.0.2.1"))
        #expect(await machine.ask("www.example.com", .aaaa).response?.responseCode == .noError)
        machine.failEverything()
        machine.resolver.networkChanged()
        #expect(await machine.ask("www.example.com", .aaaa).response?.responseCode == .noError)
        #expect(await machine.ask().isStale)
    }

    @Test @Loop func `numbers are distinguished by policy and network, also when they wrap`() {
        let number = PolicyGeneration()
        let generations = Generations(number)
        let first = generations.current
        generations.beginNetwork()
        let second = generations.current
        #expect(generations.isOfPolicy(first) && !generations.isOfNetwork(first))
        generations.beginPolicy()
        #expect(!generations.isOfPolicy(second) && generations.isOfNetwork(second))
        #expect(!generations.isOfNetwork(first))
        #expect(generations.isOfPolicy(generations.current) && generations.isOfNetwork(generations.current))
        #expect(!generations.isOfPolicy(first &- 5) && !generations.isOfNetwork(generations.current &+ 1))
    }

    // MARK: Loops

    @Test @Loop func `a probe that comes in is reported to its owner, in any letter case, and ends`() async throws {
        let machine = Machine()
        var seen = 0
        let name = try #require(machine.resolver.probes.open(below: LoopProbes.zone) { seen += 1 })
        #expect(name.labels.count == 4 && name.labels[0].count == 32)
        let reply = await machine.ask(name.description.uppercased())
        #expect(reply.failure == .nameError)
        #expect(seen == 1)
        #expect(machine.vendor.asked.isEmpty && machine.localDNS.asked.isEmpty)
    }

    @Test @Loop func `a probe of another server goes to LocalDNS, so that a circle of two comes back`() async throws {
        let machine = Machine()
        let name = try #require(LoopProbes().open(below: LoopProbes.zone) {})
        _ = await machine.ask(name.description)
        #expect(machine.vendor.asked.isEmpty)
        #expect(machine.localDNS.asked.map(\.name) == [name])
    }

    @Test @Loop func `no two probes have the same name, and a closed one is a name like any other`() async throws {
        let machine = Machine()
        let probes = machine.resolver.probes
        let names = (0..<100).compactMap { _ in probes.open(below: LoopProbes.zone) {} }
        #expect(Set(names).count == 100)
        probes.close(names[0])
        _ = await machine.ask(names[0].description)
        #expect(machine.localDNS.asked.map(\.name) == [names[0]])
        let long = try Name(Array(repeating: "aaaaaaaaaaaaaaa", count: 15).joined(separator: "."))
        #expect(probes.open(below: long) {} == nil)
    }
}
