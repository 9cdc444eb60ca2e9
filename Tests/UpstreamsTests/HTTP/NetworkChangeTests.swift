import DNSWire
import Platform
import TestServers
import TestSupport
import Testing

@testable import DNSResolver
@testable import Upstreams

/// State of the sources that is discarded when the network changes.
@Suite(.onLoop, .timeLimit(.minutes(10)))
struct NetworkChangeTests {
    @Test @Loop func `a server that was in backoff is asked in its old place again`() async throws {
        let first = try LocalDNSRawServer()
        let second = try LocalDNSRawServer { [$0.good] }
        let clock = ManualClock()
        let localDNS = makeLocalDNS([first, second], clock: clock)
        let asked = try question("a.example")
        async let reply = localDNS.ask(asked)
        await first.received(1)
        await clock.advance(by: .milliseconds(400))
        #expect(addresses(await reply) == ["192.0.2.1"])
        await clock.advance(by: .seconds(1))
        #expect(localDNS.backoffEnd(localDNS.servers[0]) != nil)
        localDNS.networkChanged()
        #expect(localDNS.backoffEnd(localDNS.servers[0]) == nil)
        #expect(try localDNS.candidates().map(\.server) == localDNS.servers)
    }

    @Test @Loop func `a look-up under way restarts, at the servers of the new network`() async throws {
        let dead = try LocalDNSRawServer()
        let good = try LocalDNSRawServer { [$0.good] }
        let localDNS = makeLocalDNS([dead], clock: ManualClock())
        async let reply = localDNS.ask(try question("a.example"))
        await dead.received(1)
        localDNS.networkChanged()
        await dead.received(2)
        localDNS.useServers([[LocalDNSServer(.v4(0x7f00_0001), port: good.port)]])
        #expect(addresses(try await reply) == ["192.0.2.1"])
        #expect(dead.queries.count == 2)
    }

    @Test @Loop func `a probe that began in the old network puts no server in backoff`() async throws {
        let clock = ManualClock()
        let server = try LocalDNSRawServer()
        let localDNS = makeLocalDNS([server], clock: clock)
        localDNS.doubted(localDNS.servers[0], since: clock.now)
        await server.received(1)
        localDNS.networkChanged()
        await clock.advance(by: .seconds(2))
        #expect(localDNS.backoffEnd(localDNS.servers[0]) == nil)
        localDNS.doubted(localDNS.servers[0], since: clock.now)
        await clock.advance(by: .seconds(1))
        #expect(localDNS.backoffEnd(localDNS.servers[0]) != nil)
    }

    @Test @Loop func `a probe that began in the old network asks nothing more there`() async throws {
        let clock = ManualClock()
        let server = try LocalDNSRawServer { $0.isProbe ? [] : [$0.good] }
        let localDNS = makeLocalDNS([server], clock: clock)
        _ = await localDNS.ask(try question("a.example"))
        localDNS.doubted(localDNS.servers[0], since: clock.now)
        await server.received(2)
        localDNS.networkChanged()
        // Neither the zone again, nor, from half of its time on, the name that it answered.
        await clock.advance(by: .seconds(2))
        await repliesArrive(on: clock)
        #expect(server.queries.count == 2)
    }

    @Test func `the next request goes over a new connection, and those under way are sent once more`() async throws {
        let server = try FakeHTTPDNS(HTTPFixture.zone)
        let transfers = await HTTPFixture.plain(server.address)
        #expect(await transfers.get("one.example.com").isSuccess)
        await transfers.renewConnections()
        #expect(await transfers.get("two.example.com").isSuccess)
        #expect(server.connections == 2)
        server.misbehave(.hang, for: "three.example.com")
        async let waiting = transfers.get("three.example.com")
        #expect(await HTTPFixture.eventually { server.requests.contains { $0.target.contains("three") } })
        await transfers.renewConnections()
        #expect(await HTTPFixture.eventually { server.connections == 3 })
        server.misbehave(nil, for: "three.example.com")
        #expect(await waiting.isSuccess)
    }

    @Test @Loop func `a request whose connection is not open yet is sent once more, too`() async throws {
        let hole = try BlackHole(.dropping, addresses: 1, network: 62)
        let origin = HTTPOrigin(
            scheme: .http, address: try #require(IPAddress("127.0.62.1")), port: hole.addresses[0].port)
        let loop = LoopRunner.shared.loop
        let transfers = HTTPTransfers(origin, loop: loop)
        let result = await withCheckedContinuation { continuation in
            _ = transfers.begin(
                HTTPFixture.request("one.example.com"), deadline: loop.now + .milliseconds(300)
            ) { continuation.resume(returning: $0) }
            transfers.renewConnections()
        }
        // On a busy machine the kernel may give up first.
        let ends: [UpstreamFailure] = [.timeout, .network("connect: Connection timed out")]
        #expect(result.failure.map(ends.contains) == true)
        withExtendedLifetime(hole) {}
    }

    /// Paths on which nothing on loopback can be reached.
    @Loop private func deadPaths() -> NetworkPaths {
        let paths = NetworkPaths { _ in .init(interface: 1) }
        paths.update(deadLinks: [1])
        return paths
    }

    @Test @Loop func `while the way there has no carrier a server is not asked, and is once it has`() async throws {
        let server = try LocalDNSRawServer { [$0.good] }
        let paths = deadPaths()
        let localDNS = LocalDNS(
            groups: [[LocalDNSServer(.v4(0x7f00_0001), port: server.port)]], paths: paths,
            loop: LoopRunner.shared.loop, clock: ManualClock())
        let reply = await localDNS.ask(try question("a.example"))
        #expect(reply.results[.a] == .failure(.network("the interface that leads there has no carrier")))
        #expect(server.queries.isEmpty)
        paths.update(deadLinks: [])
        #expect(addresses(await localDNS.ask(try question("a.example"))) == ["192.0.2.1"])
    }

    @Test @Loop func `while the way has no carrier no handshake begins, and nothing is known of it`() async throws {
        let loop = LoopRunner.shared.loop
        let check = CertificateCheck(paths: deadPaths(), loop: loop)
        // No server listens there: a handshake would end in "no TLS".
        let outcome = await check.shakeHands(
            with: .v4(0x7f00_0001), port: 9, as: try Name("www.example.com"), until: loop.now + .seconds(1))
        #expect(outcome == .unreachable)
    }
}

/// Servers that send our own questions back to us.
@Suite(.onLoop, .timeLimit(.minutes(10))) struct LoopGuardTests {
    @Loop
    private final class Fixture {
        let clock = ManualClock()
        let probes = LoopProbes()
        var events: [ResolverEvent] = []
        /// Whether the first server's questions come back.
        var isLooping = true
        var zone = Name.root
        private(set) lazy var localDNS = LocalDNS(
            groups: [], zone: zone, loop: LoopRunner.shared.loop, clock: clock, report: { self.events.append($0) })

        /// A server that forwards to us, or answers by itself; names that are not probes are answered with its address.
        func server(loops: Bool) throws -> LocalDNSRawServer {
            try LocalDNSRawServer { [unowned self] query in
                guard query.name.first == 32, let name = try? Name(wire: query.name) else {
                    return [query.reply([rawRecord(1, loops ? LoopGuardTests.rawBad : rawGood)])]
                }
                if loops, self.isLooping { _ = self.probes.received(name) }
                return [query.reply(flags: 0x8183)]
            }
        }

        func use(_ servers: [LocalDNSRawServer]) async {
            localDNS.useServers([servers.map { LocalDNSServer(.v4(0x7f00_0001), port: $0.port) }])
            localDNS.findLoops(with: probes)
            for server in servers { await server.received(1) }
            await settle()
        }

        /// Lets replies that are under way arrive.
        func settle() async {
            for _ in 0..<20 {
                await LoopRunner.shared.loop.sleep(until: LoopRunner.shared.loop.now + .milliseconds(1))
                await clock.advance(by: .zero)
            }
        }
    }

    fileprivate static let rawBad: [UInt8] = [198, 51, 100, 66]

    @Test @Loop func `a server that forwards questions back is reported once, and not asked`() async throws {
        let fixture = Fixture()
        let (looping, good) = (try fixture.server(loops: true), try fixture.server(loops: false))
        await fixture.use([looping, good])
        #expect(fixture.localDNS.servers.map(fixture.localDNS.isLooping) == [true, false])
        let count = looping.queries.count
        #expect(addresses(await fixture.localDNS.ask(try question("a.example"))) == ["192.0.2.1"])
        #expect(looping.queries.count == count)
        fixture.localDNS.networkChanged()
        await looping.received(count + 1)
        await fixture.settle()
        let server = fixture.localDNS.servers[0].description
        #expect(fixture.events == [.serverLoops(upstream: "localdns", server: server)])
    }

    @Test @Loop func `B28: when every server is in a forwarding loop, questions fail at once and say why`() async throws
    {
        let fixture = Fixture()
        let server = try fixture.server(loops: true)
        await fixture.use([server])
        let reply = await fixture.localDNS.ask(try question("a.example"))
        #expect(reply.results[.a] == .failure(.noServer("every server of localdns forwards to us")))
        #expect(server.queries.count == 1)
    }

    @Test @Loop func `it is probed a minute later, when there are questions, and asked once it is clean`() async throws
    {
        let fixture = Fixture()
        let server = try fixture.server(loops: true)
        await fixture.use([server])
        await fixture.clock.advance(by: .seconds(3_600))
        #expect(server.queries.count == 1)
        fixture.isLooping = false
        _ = await fixture.localDNS.ask(try question("a.example"))
        await server.received(2)
        await fixture.settle()
        #expect(addresses(await fixture.localDNS.ask(try question("a.example"))) == ["198.51.100.66"])
        #expect(fixture.events.count == 2)
        #expect(
            fixture.events.last
                == .serverLoopEnded(upstream: "localdns", server: fixture.localDNS.servers[0].description))
    }

    @Test @Loop func `silence does not end a forwarding loop`() async throws {
        let fixture = Fixture()
        let server = try fixture.server(loops: true)
        await fixture.use([server])
        fixture.localDNS.useServers([fixture.localDNS.servers + [LocalDNSServer(.v4(0x7f00_0001), port: 9)]])
        await server.received(2)
        await fixture.clock.advance(by: .seconds(5))
        #expect(fixture.localDNS.isLooping(fixture.localDNS.servers[0]))
    }

    @Test @Loop func `servers of a forward entry are probed below its suffix`() async throws {
        let fixture = Fixture()
        let server = try fixture.server(loops: false)
        fixture.zone = try Name("cluster.local")
        await fixture.use([server])
        let name = try Name(wire: try #require(server.queries.first).name)
        #expect(name.isWithin(try Name("cluster.local")))
        #expect(!fixture.localDNS.isLooping(fixture.localDNS.servers[0]))
    }
}
