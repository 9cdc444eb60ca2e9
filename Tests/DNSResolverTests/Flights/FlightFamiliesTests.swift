import DNSWire
import TestUpstreams
import Scheduling
import TestSupport
import Testing

@testable import DNSResolver

/// A and AAAA of a name are one flight.
@Suite(.onLoop)
struct FlightFamiliesTests {
    private typealias Machine = ResolverTests.Machine

    /// A machine whose provider has a question for each family.
    @Loop
    private func machine() -> Machine { Machine(answersBothFamilies: false) }

    @Test @Loop func `both families of a name are one flight, and each is asked for when it is wanted`() async {
        let machine = machine()
        machine.vendor.slow = [.a: .milliseconds(200), .aaaa: .milliseconds(200)]
        let (a, aaaa) = (ResolverTests.Reply(clock: machine.clock), ResolverTests.Reply(clock: machine.clock))
        machine.start("www.example.com", .a, a)
        await machine.clock.advance(by: .milliseconds(100))
        #expect(machine.vendor.asked.map(\.types) == [[.a]])
        machine.start("www.example.com", .aaaa, aaaa)
        await machine.clock.advance(by: .zero)
        #expect(machine.vendor.asked.map(\.types) == [[.a], [.aaaa]])
        #expect(machine.resolver.load == (1, 2))
        await machine.clock.advance(by: .milliseconds(200))
        #expect(a.has("192.0.2.1") && aaaa.has("2001:db8::1"))
        #expect(machine.resolver.load == (0, 0))
    }

    @Test @Loop func `a family that has its answer is asked for again though the other one is still under way`() async {
        let machine = machine()
        machine.vendor.slow = [.aaaa: .seconds(1)]
        machine.vendor.behaviour = .reply(
            after: .zero,
            [.a: .answer(Answer(name: .root, addresses: [.v4(0xc000_0201)], ttl: 0)), .aaaa: .failure(.timeout)])
        machine.start("www.example.com", .aaaa, ResolverTests.Reply(clock: machine.clock))
        for _ in 0..<2 { #expect(await machine.ask().has("192.0.2.1")) }
        #expect(machine.vendor.asked.count { $0.types == [.a] } == 2)
        #expect(machine.resolver.load.flights == 1)
    }

    /// Work that counts how often it was cancelled.
    @Loop
    private final class CountedWork: SourceRun {
        private(set) var cancellations = 0
        let isVerified = false

        func cancel() { cancellations += 1 }
    }

    @Test @Loop func `a flight that is given up cancels what asks for either family, and wakes all that wait`() throws {
        let clock = ManualClock()
        let key = FlightKey(
            name: try Name("www.example.com"), type: .a, route: .bypass, dnssecOK: false, checkingDisabled: false)
        let flight = Flight(key: key, clock: clock)
        let works = [CountedWork(), CountedWork()]
        var woken = 0
        for (type, work) in zip([RecordType.a, .aaaa], works) {
            let run = FlightRun([type])
            run.work = work
            flight.add(run)
            flight.wait(for: type, until: clock.now + .seconds(1)) { outcome, _ in
                if outcome == nil { woken += 1 }
            }
        }
        flight.abandon()
        #expect(works.allSatisfy { $0.cancellations == 1 } && flight.isIdle)
        #expect(woken == 2 && flight.waiterCount == 0)
    }
}
