import DNSWire
import TestSupport
import TestUpstreams
import Testing

@testable import DNSResolver

/// How flights are shared among clients when their number is at its limit.
@Suite(.onLoop) struct FlightShareTests {
    private static let flooder = IPAddress.v4(0xc000_0242)
    private static let client = IPAddress.v4(0xc000_0207)

    private func key(_ name: String, _ client: IPAddress) throws -> FlightKey {
        FlightKey(
            name: try Name(name), type: .a, route: .bypass, dnssecOK: false, checkingDisabled: false,
            holder: ClientNetwork(client))
    }

    /// Something that is under way.
    @Loop
    private final class Work {
        nonisolated init() {}
    }

    /// Adds one more, and returns it with what was evicted; nil where there is no room.
    @Loop private func add(_ name: String, _ client: IPAddress, to coalescer: Coalescer<Work>) throws -> (Work, Work?)?
    {
        let work = Work()
        let (isAdded, evicted) = coalescer.add(work, for: try key(name, client))
        return isAdded ? (work, evicted) : nil
    }

    @Test @Loop func `one client may begin as many as are allowed, and another one still gets its own`() throws {
        let coalescer = Coalescer<Work>(limit: 4)
        let flood = try (0..<6).map { try add("n\($0).example", Self.flooder, to: coalescer) }
        #expect(flood.map { $0 != nil } == [true, true, true, true, false, false])
        for (place, name) in ["a.example", "b.example"].enumerated() {
            let (_, evicted) = try #require(try add(name, Self.client, to: coalescer))
            #expect(evicted === flood[place]?.0)
        }
        #expect(try add("c.example", Self.client, to: coalescer) == nil)
        #expect(coalescer.count == 4)
    }

    @Test @Loop func `a flight that has ended makes room`() throws {
        let coalescer = Coalescer<Work>(limit: 1)
        for name in ["a.example", "b.example"] {
            let (work, _) = try #require(try add(name, Self.client, to: coalescer))
            #expect(try add("more.example", Self.client, to: coalescer) == nil)
            for _ in 0..<2 { coalescer.remove(work, for: try key(name, Self.client)) }
        }
        #expect(coalescer.count == 0)
    }

    @Test @Loop func `a flight that another one has replaced ends without it`() throws {
        let coalescer = Coalescer<Work>(limit: 4)
        let name = try key("a.example", Self.client)
        let (first, _) = try #require(try add("a.example", Self.client, to: coalescer))
        let (second, _) = try #require(try add("a.example", Self.client, to: coalescer))
        coalescer.remove(first, for: name)
        #expect(coalescer.flight(for: name) === second && coalescer.count == 1)
    }

    @Test @Loop func `a client that joined the flight of a flooder does not lose its answer with it`() async {
        let limit = 100
        let machine = Machine(flightLimit: limit)
        machine.silenceEverything()
        var flood = [machine.start("n0.example", from: Self.flooder)]
        let joined = machine.start("n0.example", from: Self.client)
        flood += (1..<limit).map { machine.start("n\($0).example", from: Self.flooder) }
        #expect(machine.resolver.load.flights == limit)
        await machine.clock.advance(by: .zero)
        machine.vendor.behaviour = .addresses("192.0.2.1")
        let own = machine.start(from: Self.client)
        await machine.clock.advance(by: .zero)
        #expect(joined.has("192.0.2.1") && own.has("192.0.2.1"))
        #expect(flood.count { $0.response != nil } <= 2)
        await machine.clock.advance(by: .seconds(3))
        #expect(flood.allSatisfy { $0.response != nil })
        #expect(machine.resolver.load.flights == 0)
    }
}
