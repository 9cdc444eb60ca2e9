import DNSWire
import TestSupport
import TestUpstreams
import Testing

@testable import DNSResolver

/// A and AAAA of a name are one flight.
@Suite(.onLoop) struct FlightFamiliesTests {
    /// A machine whose provider has a question for each family.
    @Loop private func machine() -> Machine { Machine(answersBothFamilies: false) }

    @Test @Loop func `both families of a name are one flight, and each is asked for when it is wanted`() async {
        let machine = machine()
        machine.vendor.slow = [.a: .milliseconds(200), .aaaa: .milliseconds(200)]
        let a = machine.start()
        await machine.clock.advance(by: .milliseconds(100))
        #expect(machine.vendor.asked.map(\.types) == [[.a]])
        let aaaa = machine.start("www.example.com", .aaaa)
        await machine.clock.advance(by: .zero)
        #expect(machine.vendor.asked.map(\.types) == [[.a], [.aaaa]])
        #expect(machine.resolver.load == (1, 2))
        await machine.clock.advance(by: .milliseconds(200))
        #expect(a.has("192.0.2.1") && aaaa.has("2001:db8::1"))
        #expect(machine.resolver.load == (0, 0))
    }

    @Test @Loop func `a family that has its answer is asked for again beside a slow other one only after 1.9 s`() async
    {
        let machine = machine()
        machine.vendor.slow = [.aaaa: .seconds(10)]
        machine.vendor.behaviour = .reply(
            after: .zero, [.a: .answer(Answer(name: .root, addresses: [.v4(0xc000_0201)], ttl: 0))])
        machine.start("www.example.com", .aaaa)
        for count in [1, 1, 2] {
            #expect(await machine.ask().has("192.0.2.1"))
            #expect(machine.vendor.asked.count { $0.types == [.a] } == count)
            #expect(machine.resolver.load == (1, 1))
            await machine.clock.advance(by: .milliseconds(951))
        }
    }
}
