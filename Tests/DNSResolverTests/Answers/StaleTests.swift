import DNSCache
import DNSWire
import TestSupport
import TestUpstreams
import Testing

@testable import DNSResolver

/// Answers past their TTL, when the network is bad (RFC 8767).
@Suite(.onLoop) struct StaleTests {
    /// A machine that has the name in its cache, 10 s after its TTL of 60 s, in a network where no upstream answers.
    @Loop private func outage() async -> Machine {
        let machine = Machine()
        _ = await machine.ask()
        await machine.clock.advance(by: .seconds(70))
        machine.silenceEverything()
        return machine
    }

    @Test @Loop func `a flush takes the stale answer that a race under way has given, too`() async {
        let machine = Machine(policy: RoutePolicy(bypass: [.root]))
        for type in [RecordType.a, .aaaa] { _ = await machine.ask("www.example.com", type) }
        await machine.clock.advance(by: .seconds(70))
        machine.localDNS.behaviour = .failure(.responseCode(.serverFailure))
        machine.localDNS.slow = [.aaaa: .seconds(1)]
        machine.start("www.example.com", .aaaa)
        #expect(await machine.ask().isStale)
        _ = await machine.resolver.remove(.all)
        #expect(!(await machine.ask().isStale))
    }

    @Test(arguments: [(3, false), (60, true)]) @Loop
    func `an answer that lay in its socket while the process was stopped is as old as that`(
        ttl: UInt32, isFresh: Bool
    ) async throws {
        let machine = Machine()
        machine.vendor.behaviour = .addresses("192.0.2.1", "2001:db8::1", ttl: ttl)
        let reply = machine.start()
        machine.clock.stop(for: .seconds(10))
        await machine.clock.advance(by: .zero)
        // As long as its race has waited it may have been under way.
        guard case .answer(_, age: 8)? = reply.response?.content else {
            throw TestFailure("\(String(describing: reply.response))")
        }
        #expect(try (machine.hit() != nil) == isFresh)
    }

    @Test @Loop func `an answer that expires while the other family's race is under way comes stale`() async {
        let machine = Machine(policy: RoutePolicy(bypass: [.root]))
        _ = await machine.ask("www.example.com", .aaaa)
        machine.localDNS.behaviour = .silence
        await machine.clock.advance(by: .milliseconds(59_500))
        machine.start()
        await machine.clock.advance(by: .milliseconds(700))
        #expect(await machine.ask("www.example.com", .aaaa).isStale)
    }

    @Test @Loop func `a query that waited for long has what another race has had meanwhile`() async {
        let machine = Machine()
        machine.silenceEverything()
        let late = machine.start(after: .seconds(2))
        await machine.clock.advance(by: .milliseconds(10))
        machine.vendor.behaviour = .addresses("192.0.2.1")
        #expect(await machine.ask().has("192.0.2.1"))
        await machine.clock.advance(by: .milliseconds(290))
        #expect(late.has("192.0.2.1"))
    }

    @Test @Loop func `the refresh goes on when its client has the stale answer and is gone`() async throws {
        let machine = await outage()
        machine.vendor.behaviour = .addresses("192.0.2.7", after: .milliseconds(900))
        #expect(await machine.ask().waited == .milliseconds(200))
        #expect(machine.resolver.load == (flights: 1, waiters: 0))
        await machine.clock.advance(by: .milliseconds(700))
        #expect(machine.resolver.load.flights == 0)
        #expect(try machine.hit()?.answers.compactMap(\.address) == [IPAddress("192.0.2.7")])
    }

    @Test(arguments: [ResponseCode.nameError, .noError]) @Loop
    func `a stale denial of LocalDNS is no answer for a protected name`(code: ResponseCode) async throws {
        let machine = Machine()
        machine.vendor.behaviour = .failure(.network("refused"))
        machine.localDNS.behaviour = .denial(code)
        #expect(await machine.ask().packed?.responseCode == code)
        machine.failEverything()
        await machine.clock.advance(by: .seconds(70))
        #expect(await machine.ask().failure == .serverFailure)
    }

    @Test @Loop func `a stale denial of LocalDNS is served for a name that is not protected`() async throws {
        let machine = Machine(policy: RoutePolicy(bypass: [try Name("example.com")]))
        machine.localDNS.behaviour = .denial()
        #expect(await machine.ask().packed?.responseCode == .nameError)
        machine.failEverything()
        await machine.clock.advance(by: .seconds(70))
        let reply = await machine.ask()
        #expect(reply.isStale && reply.packed?.responseCode == .nameError)
    }

    @Test @Loop func `an explicit NODATA ends the use of a stale answer`() async {
        let machine = await outage()
        machine.vendor.behaviour = .addresses("2001:db8::1")
        #expect(await machine.ask().packed?.counts == .init(authority: 1))
        machine.failEverything()
        await machine.clock.advance(by: .seconds(70))
        #expect(await machine.ask().has("192.0.2.1") == false)
    }
}
