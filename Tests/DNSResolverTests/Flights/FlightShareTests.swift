import DNSWire
import TestUpstreams
import Scheduling
import TestSupport
import Testing

@testable import DNSResolver

/// How flights are shared among clients when their number is at its limit.
@Suite(.onLoop)
struct FlightShareTests {
    private static let flooder = IPAddress.v4(0xc000_0242)
    private static let client = IPAddress.v4(0xc000_0207)

    private func key(_ name: String, _ client: IPAddress) throws -> FlightKey {
        FlightKey(
            name: try Name(name), type: .a, route: .bypass, dnssecOK: false, checkingDisabled: false,
            holder: ClientNetwork(client))
    }

    @Test @Loop func `one client may begin as many as are allowed, and another one still gets its own`() throws {
        let coalescer = Coalescer(clock: ManualClock(), limit: 4)
        let flights = try (0..<6).map { coalescer.join(try key("n\($0).example", Self.flooder), .a) { _ in } }
        #expect(flights.map { $0 != nil } == [true, true, true, true, false, false])
        #expect(coalescer.join(try key("a.example", Self.client), .a) { _ in } != nil)
        #expect(coalescer.join(try key("b.example", Self.client), .a) { _ in } != nil)
        #expect(flights.map { $0?.isAbandoned } == [true, true, false, false, nil, nil])
        #expect(coalescer.join(try key("c.example", Self.client), .a) { _ in } == nil)
        #expect(coalescer.load.flights == 4)
    }

    @Test @Loop func `a flight that has ended makes room`() throws {
        let coalescer = Coalescer(clock: ManualClock(), limit: 1)
        for name in ["a.example", "b.example"] {
            let flight = try #require(coalescer.join(try key(name, Self.client), .a) { _ in })
            #expect(coalescer.join(try key("more.example", Self.client), .a) { _ in } == nil)
            coalescer.end(flight)
            coalescer.end(flight)
        }
        #expect(coalescer.load.flights == 0)
    }

    @Test @Loop func `flights are counted from more than half of the limit on, until fewer than a quarter are left`()
        throws
    {
        let coalescer = Coalescer(clock: ManualClock(), limit: 8)
        let flights = try (0..<5).map { index in
            try #require(coalescer.join(try key("n\(index).example", Self.client), .a) { _ in })
        }
        for flight in flights.prefix(3) { coalescer.end(flight) }
        #expect(flights[3].ticket != nil && flights[4].ticket != nil)
        coalescer.end(flights[3])
        #expect(flights[4].ticket == nil)
    }

    @Test @Loop func `a client that joined the flight of a flooder does not lose its answer with it`() async {
        let limit = 100
        let machine = ResolverTests.Machine(flightLimit: limit)
        (machine.vendor.behaviour, machine.localDNS.behaviour) = (.silence, .silence)
        let flood = (0..<limit).map { _ in ResolverTests.Reply(clock: machine.clock) }
        let (joined, own) = (
            ResolverTests.Reply(clock: machine.clock), ResolverTests.Reply(clock: machine.clock)
        )
        machine.start("n0.example", .a, flood[0], from: Self.flooder)
        machine.start("n0.example", .a, joined, from: Self.client)
        for index in 1..<flood.count { machine.start("n\(index).example", .a, flood[index], from: Self.flooder) }
        #expect(machine.resolver.load.flights == limit)
        await machine.clock.advance(by: .zero)
        machine.vendor.behaviour = .addresses("192.0.2.1")
        machine.start("www.example.com", .a, own, from: Self.client)
        await machine.clock.advance(by: .zero)
        #expect(joined.has("192.0.2.1") && own.has("192.0.2.1"))
        #expect(flood.count { $0.response != nil } <= 2)
        await machine.clock.advance(by: .seconds(3))
        #expect(flood.allSatisfy { $0.response != nil })
        #expect(machine.resolver.load.flights == 0)
    }
}
