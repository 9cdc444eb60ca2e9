import DNSWire
import Scheduling
import TestSupport
import Testing

@testable import DNSResolver

/// Names that nobody waits for are begun together, so that a provider can be asked for several in one request.
@Suite(.onLoop)
struct BatchTests {
    private typealias Machine = ResolverTests.Machine

    private func names(_ count: Int, below parent: String = "example.com") -> [Name] {
        (0..<count).compactMap { try? Name("host\($0).\(parent)") }
    }

    /// A machine whose vendor takes five names in one request and 100 ms for each, and that looks up this many.
    @Loop
    private func machine(_ count: Int, scoping: ClientScoping? = nil) -> Machine {
        let machine = Machine(preresolve: names(count), scoping: scoping, maximumNames: 5)
        machine.vendor.behaviour = .addresses("192.0.2.1", "2001:db8::1", after: .milliseconds(100))
        return machine
    }

    // MARK: Who begins together

    @Test @Loop func `four batches are under way at once, each full, and each that ends makes room for the next`() async
    {
        let machine = machine(28)
        machine.resolver.preresolve()
        await machine.clock.advance(by: .milliseconds(50))
        #expect(machine.vendor.asked.count == 20)
        await machine.clock.advance(by: .milliseconds(100))
        #expect(machine.vendor.asked.count == 28)
        #expect(machine.vendor.asked.allSatisfy { $0.mayBeBatched && $0.types == [.a, .aaaa] })
    }

    @Test @Loop func `names that are fresh leave no gaps in the batches of the others`() async {
        let machine = machine(24)
        for name in ["host0.example.com", "host7.example.com"] { _ = await machine.ask(name) }
        machine.resolver.preresolve()
        await machine.clock.advance(by: .milliseconds(50))
        // Each of the two took one of the four places, and gave it back at once.
        #expect(machine.vendor.asked.count == 2 + 20)
    }

    @Test @Loop func `names of two providers are not put together, whatever their order, and others go alone`() async {
        let lookups = BackgroundLookups()
        var begun: [[Name]] = []
        let (one, two, alone) = (names(7, below: "one.example"), names(9, below: "two.example"), names(2))
        let mixed = (0..<9).flatMap { index in [one, two, alone].compactMap { $0.dropFirst(index).first } }
        lookups.begin(
            mixed,
            batch: { name in one.contains(name) ? (0, 5) : two.contains(name) ? (1, 8) : nil },
            lookUp: { begun.append($0) })
        await Loop.executor.idle()
        #expect(begun.count == 6)
        #expect(begun.contains(Array(one.prefix(5))) && begun.contains(Array(two.prefix(8))))
        #expect(Set(begun) == [Array(one[..<5]), Array(one[5...]), Array(two[..<8]), [two[8]], [alone[0]], [alone[1]]])
    }

    @Test @Loop func `a batch is one of the first provider that can be asked now`() async throws {
        let clock = ManualClock()
        let first = FakeUpstream("first", .silence, clock: clock)
        let provider = FakeProvider("first", addresses: [first], maximumNames: 5)
        let second = FakeProvider(
            "second", addresses: [FakeUpstream("second", .silence, clock: clock)], maximumNames: 8)
        let single = FakeProvider("single", addresses: [FakeUpstream("single", .silence, clock: clock)])
        let selector = ProviderSelector(providers: [provider, second, single], clock: clock, report: { _ in })
        #expect(try #require(selector.batch(of: [0, 1, 2])) == (0, 5))
        #expect(try #require(selector.batch(of: [1, 2])) == (1, 8))
        #expect(selector.batch(of: [2, 0]) == nil)
        first.health.setAside(until: clock.now + .seconds(1))
        #expect(try #require(selector.batch(of: [0, 1])) == (1, 8))
        #expect(selector.batch(of: [0]) == nil)
        await clock.advance(by: .seconds(1))
        provider.unavailability = "its daily_limit is reached"
        #expect(try #require(selector.batch(of: [0, 1])) == (1, 8))
    }

    @Test @Loop func `names asked for by network go as before, one at a time`() async {
        let machine = machine(10, scoping: ClientScoping(bits: 24))
        machine.resolver.preresolve()
        await machine.clock.advance(by: .milliseconds(50))
        #expect(machine.vendor.asked.count == 4 && !machine.vendor.asked.contains { $0.mayBeBatched })
    }

    @Test @Loop func `a client's question is never kept for a batch, a refresh ahead may share one`() async throws {
        let machine = Machine(maximumNames: 5)
        _ = await machine.ask()
        #expect(try machine.hit() != nil)
        await machine.clock.advance(by: .seconds(54))
        _ = await machine.ask()
        #expect(machine.vendor.asked.map(\.mayBeBatched) == [false, true])
    }

    // MARK: What comes of a batch

    @Test @Loop func `what has failed in a batch is asked again alone`() async throws {
        let machine = machine(1)
        machine.vendor.behaviour = .failure(.timeout)
        machine.resolver.preresolve()
        await machine.clock.advance(by: .seconds(1))
        #expect(machine.vendor.asked.map(\.mayBeBatched) == [true, false])
        #expect(machine.localDNS.asked.count == 2)
    }

    @Test @Loop func `a client who asks for one of the names while they are under way waits for the same reply`() async
    {
        let machine = machine(5)
        machine.resolver.preresolve()
        await machine.clock.advance(by: .milliseconds(50))
        let reply = await machine.ask("host3.example.com", .aaaa)
        #expect(reply.has("2001:db8::1") && reply.response?.extendedError == nil)
        #expect(machine.vendor.asked.count == 5)
    }

    @Test @Loop func `what is under way while the policy changes is for nobody`() async throws {
        let machine = machine(5)
        machine.resolver.preresolve()
        await machine.clock.advance(by: .milliseconds(50))
        machine.resolver.turn(on: false)
        await machine.clock.advance(by: .seconds(1))
        for name in names(5) { #expect(try machine.hit(name.description) == nil) }
        #expect(await machine.ask("host3.example.com").has("203.0.113.9"))
    }

    @Test(arguments: [true, false]) @Loop
    func `questions of one turn that are given up for a faster address are one failure if they may share a request`(
        mayBeBatched: Bool
    ) async {
        let clock = ManualClock()
        let slow = FakeUpstream("slow", .silence, clock: clock)
        let fast = FakeUpstream("fast", .addresses("192.0.2.1"), clock: clock)
        let selector = ProviderSelector(
            providers: [FakeProvider("vendor", addresses: [slow, fast], maximumNames: 5)], clock: clock,
            report: { _ in })
        let attempts = names(2).map { name in
            let question = UpstreamQuestion(
                name: name, types: [.a], mayBeBatched: mayBeBatched, deadline: clock.now + Budget.lastStart)
            return selector.ask(question, of: [0], told: { _, _ in })
        }
        for attempt in attempts { attempt.start() }
        await clock.advance(by: Budget.hedge)
        for attempt in attempts { attempt.startAnother() }
        await clock.advance(by: .milliseconds(1))
        #expect(slow.health.counters.requests == 2 && fast.health.counters.requests == 2)
        #expect(slow.health.isUsable(at: clock.now) == mayBeBatched)
    }

    @Test @Loop func `a question of a batch that is given up and one that has no answer in time are one failure`() async
    {
        let clock = ManualClock()
        let slow = FakeUpstream("slow", .silence, clock: clock)
        let fast = FakeUpstream("fast", .addresses("192.0.2.1"), clock: clock)
        let selector = ProviderSelector(
            providers: [FakeProvider("vendor", addresses: [slow, fast], maximumNames: 5)], clock: clock,
            report: { _ in })
        let attempts = names(2).map { name in
            let question = UpstreamQuestion(
                name: name, types: [.a], mayBeBatched: true, deadline: clock.now + Budget.lastStart)
            return selector.ask(question, of: [0], told: { _, _ in })
        }
        for attempt in attempts { attempt.start() }
        await clock.advance(by: Budget.hedge)
        attempts[0].startAnother()
        await clock.advance(by: .seconds(2))
        #expect(slow.health.counters.failures == 1)
        #expect(slow.health.isUsable(at: clock.now))
    }

    @Test @Loop func `a request that carried several questions is one failure of its address`() {
        var reply = UpstreamReply(failure: .timeout, types: [.a, .aaaa])
        guard case .address = reply.blame else {
            Issue.record("nobody is blamed")
            return
        }
        reply.isRepetition = true
        guard case .nobody = reply.blame else {
            Issue.record("the address is blamed twice")
            return
        }
    }
}
