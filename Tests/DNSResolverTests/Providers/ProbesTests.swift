import DNSResolver
import DNSWire
import TestSupport
import TestUpstreams
import Testing

/// Probes that overlap, and look-ups without a client.
@Suite(.onLoop) struct ProbesTests {
    @Test @Loop func `the end of an older probe fails no question that waits for a newer one`() async {
        let machine = Machine()
        machine.failEverything()
        machine.vendor.probeBehaviour = .failure(.timeout, after: .seconds(1))
        machine.start("first.example.com", .a)
        await machine.clock.advance(by: .milliseconds(100))
        machine.vendor.health.networkChanged(at: machine.clock.now)
        machine.resolver.networkChanged()
        machine.vendor.probeBehaviour = nil
        machine.start("second.example.com", .a)
        await machine.clock.advance(by: .milliseconds(300))
        #expect(machine.vendor.probes.count == 2 && !machine.vendor.health.isUsable)
        machine.vendor.behaviour = .addresses("192.0.2.1")
        machine.vendor.probeBehaviour = .addresses("192.0.2.1", after: .milliseconds(900))
        let waiting = machine.start()
        await machine.clock.advance(by: .milliseconds(1_300))
        #expect(machine.vendor.probes.count == 3)
        #expect(waiting.has("192.0.2.1"))
    }

    @Test @Loop func `a refusal that a probe of the old network brings is none of the account`() async {
        let machine = Machine()
        machine.failEverything()
        machine.vendor.probeBehaviour = .failure(.authentication("HTTP 403"), after: .milliseconds(200))
        machine.start("first.example.com", .a)
        await machine.clock.advance(by: .milliseconds(100))
        machine.vendor.health.networkChanged(at: machine.clock.now)
        machine.provider.access.succeeded()
        machine.resolver.networkChanged()
        machine.vendor.behaviour = .addresses("192.0.2.1")
        await machine.clock.advance(by: .milliseconds(200))
        #expect(!machine.provider.access.isActive)
        #expect(await machine.ask().has("192.0.2.1"))
    }

    @Test(arguments: [FakeBehaviour.addresses("192.0.2.1"), .failure(.responseCode(.serverFailure))]) @Loop
    func `a probe that is not refused, whatever else it brings, ends the backoff of an account`(
        behaviour: FakeBehaviour
    ) async {
        let machine = Machine()
        machine.vendor.behaviour = .failure(.authentication("HTTP 403"))
        #expect(await machine.ask("first.example.com").has("203.0.113.9"))
        await machine.clock.advance(by: .zero)
        #expect(machine.provider.access.isActive)
        machine.vendor.behaviour = .addresses("192.0.2.1")
        machine.vendor.probeBehaviour = behaviour
        await machine.clock.advance(by: .seconds(60))
        _ = await machine.ask("second.example.com")
        #expect(!machine.provider.access.isActive)
        #expect(await machine.ask("third.example.com").has("192.0.2.1"))
    }

    @Test @Loop func `a service that refuses all with an HTTP error is asked no more, until it answers`() async {
        let machine = Machine()
        machine.vendor.behaviour = .failure(.refused("HTTP 400"))
        for number in 0..<9 { #expect(await machine.ask("n\(number).example.com").has("203.0.113.9")) }
        #expect(machine.vendor.asked.count == 1 && !machine.vendor.health.isUsable)
        machine.vendor.behaviour = .addresses("192.0.2.1")
        await machine.clock.advance(by: .seconds(1))
        _ = await machine.ask("first.example.com")
        #expect(await machine.ask("second.example.com").has("192.0.2.1"))
    }

    @Test(arguments: [false, true]) @Loop
    func `a probe that our own limit of calls stops says nothing of its address`(isInBackoff: Bool) async {
        let machine = Machine()
        machine.vendor.behaviour = .failure(.network("refused"))
        if isInBackoff {
            _ = await machine.ask("first.example.com")
            await machine.clock.advance(by: .seconds(1))
        }
        machine.vendor.probeBehaviour = .failure(.overloaded("its limit of calls is reached"))
        _ = await machine.ask("second.example.com")
        #expect(machine.vendor.probes.count == (isInBackoff ? 2 : 1))
        #expect(machine.vendor.health.isUsable != isInBackoff)
    }

    @Test(arguments: [true, false]) @Loop
    func `look-ups in the background that fail make their provider suspect, and one probe decides`(isDown: Bool) async {
        let machine = Machine(
            preresolve: ["a", "b", "c", "d"].compactMap { try? Name("\($0).example.com") })
        machine.vendor.behaviour = .failure(.timeout, after: .milliseconds(400))
        machine.vendor.probeBehaviour = isDown ? .failure(.network("refused")) : .addresses("192.0.2.1")
        machine.resolver.preresolve()
        await machine.clock.advance(by: .milliseconds(400))
        #expect(machine.vendor.asked.count >= 4 && machine.vendor.probes.count == 1)
        #expect(machine.vendor.health.isUsable != isDown)
    }

    @Test @Loop func `a provider given up with the race that a change of network ends is not blamed for it`() async {
        let machine = Machine()
        machine.vendor.behaviour = .addresses("192.0.2.1", after: .milliseconds(700))
        machine.vendor.probeBehaviour = .addresses("192.0.2.1")
        let reply = machine.start()
        await machine.clock.advance(by: .milliseconds(400))
        machine.resolver.networkChanged()
        await machine.clock.advance(by: .milliseconds(700))
        #expect(machine.vendor.asked.count == 2 && reply.has("192.0.2.1"))
        #expect(machine.vendor.health.isUsable && machine.vendor.health.counters.failures == 0)
    }

    @Test @Loop func `each request and probe without an answer is counted, with the reason of the last one`() async {
        let machine = Machine()
        let vendor = machine.vendor
        vendor.behaviour = .failure(.network("refused"))
        vendor.probeBehaviour = .failure(.network("unreachable"), after: .milliseconds(100))
        machine.start()
        await machine.clock.advance(by: .zero)
        #expect(vendor.health.counters.failures == vendor.asked.count && vendor.probes.count == 1)
        #expect(vendor.health.counters.lastFailure?.reason == "refused")
        await machine.clock.advance(by: .milliseconds(100))
        #expect(vendor.health.counters.failures == vendor.asked.count + vendor.probes.count)
        #expect(vendor.health.counters.lastFailure?.reason == "unreachable")
    }
}
