import DNSResolver
import DNSWire
import TestSupport
import Testing

@testable import Upstreams

/// How queries to LocalDNS are shared when their number is at its limit.
@Suite(.onLoop) struct LocalDNSShareTests {
    /// LocalDNS with room for four queries, and a server that answers only names that begin with "a".
    @Loop
    private final class Bench {
        let clock = ManualClock()
        let limit = LocalDNSLimit(maximum: 4)
        let server: LocalDNSRawServer
        let localDNS: LocalDNS
        private(set) var results: [String: UpstreamResult] = [:]

        init() throws {
            server = try LocalDNSRawServer { query in
                query.isProbe || query.name[1] | 0x20 == UInt8(ascii: "a") ? [query.good] : []
            }
            localDNS = makeLocalDNS([server], limit: limit, clock: clock)
        }

        /// Has a probe answered, so that none is sent in the next seconds.
        func probe() async {
            localDNS.doubted(localDNS.servers[0], since: clock.now)
            await server.received(1)
            await repliesArrive(on: clock)
        }

        @discardableResult
        func begin(_ name: String, from client: String) throws -> Task<Void, Never> {
            let asked = try question(name, from: client)
            return Loop.spawn { [self] in results[name] = await localDNS.ask(asked).results[.a] }
        }

        /// Asks for names that are never answered, and waits until their queries arrive.
        func flood(_ names: [String], from client: String) async throws {
            let before = server.queries.count
            for name in names { try begin(name, from: client) }
            await server.received(before + names.count)
        }

        func hasFailed(_ name: String) -> Bool {
            if case .failure(.overloaded)? = results[name] { true } else { false }
        }
    }

    @Test @Loop func `one client may have all, and one query more fails while the others are young`() async throws {
        let bench = try Bench()
        try await bench.flood(["n1.example", "n2.example", "n3.example", "n4.example"], from: "192.0.2.66")
        await bench.clock.advance(by: .milliseconds(399))
        try await bench.begin("a.example", from: "192.0.2.66").value
        #expect(bench.hasFailed("a.example"))
        #expect(bench.results.count == 1 && bench.limit.count == 4)
    }

    @Test @Loop func `a client that asks for names without answers delays no other client's answer`() async throws {
        let bench = try Bench()
        try await bench.flood(["n1.example", "n2.example", "n3.example", "n4.example"], from: "2001:db8::1")
        try await bench.begin("a.example", from: "192.0.2.1").value
        #expect(addresses(bench.results["a.example"]) == ["192.0.2.1"])
        #expect(bench.hasFailed("n1.example"))
        // Another address of the same network is the same client.
        try await bench.begin("a2.example", from: "2001:db8::2").value
        #expect(addresses(bench.results["a2.example"]) == ["192.0.2.1"])
        try await bench.flood(["n5.example"], from: "2001:db8::3")
        try await bench.begin("a3.example", from: "2001:db8::2").value
        #expect(bench.hasFailed("a3.example"))
    }

    @Test @Loop func `names without answers do not delay names with answers of the same client for long`() async throws
    {
        let bench = try Bench()
        try await bench.flood(["n1.example", "n2.example", "n3.example", "n4.example"], from: "127.0.0.1")
        await bench.clock.advance(by: .milliseconds(400))
        try await bench.begin("a.example", from: "127.0.0.1").value
        #expect(addresses(bench.results["a.example"]) == ["192.0.2.1"])
    }

    @Test @Loop func `other questions displace queries that were repeated, and end no question by it`() async throws {
        let bench = try Bench()
        await bench.probe()
        try await bench.flood(["n1.example", "n2.example"], from: "192.0.2.1")
        await bench.clock.advance(by: .milliseconds(400))
        await bench.server.received(5)
        #expect(bench.limit.count == 4)
        try await bench.flood(["n3.example", "n4.example"], from: "192.0.2.1")
        #expect(bench.limit.count == 4 && bench.results.isEmpty)
        for query in bench.server.questions[2..<4] {
            bench.server.send(query.good, to: query)
        }
        while bench.results.count < 2 { await bench.clock.advance(by: .zero) }
        #expect(addresses(bench.results["n1.example"]) == ["192.0.2.1"])
        #expect(addresses(bench.results["n2.example"]) == ["192.0.2.1"])
    }

    @Test @Loop func `a repeat for which there is no room is sent when there is`() async throws {
        let bench = try Bench()
        await bench.probe()
        try await bench.flood(["n1.example", "n2.example", "n3.example", "n4.example"], from: "192.0.2.1")
        await bench.clock.advance(by: .milliseconds(400))
        #expect(bench.server.questions.count == 4 && bench.results.isEmpty)
        for query in bench.server.questions.prefix(2) {
            bench.server.send(query.good, to: query)
        }
        while bench.results.count < 2 { await bench.clock.advance(by: .zero) }
        await bench.clock.advance(by: .milliseconds(400))
        await bench.server.received(7)
        #expect(bench.results.count == 2)
    }
}
