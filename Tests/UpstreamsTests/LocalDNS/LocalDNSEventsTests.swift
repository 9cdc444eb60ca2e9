import DNSResolver
import DNSWire
import TestSupport
import Testing

@testable import Upstreams

/// Events of LocalDNS's servers, on a clock that the test moves.
@Suite(.onLoop) struct LocalDNSEventsTests {
    private static let server = LocalDNSServer(.v4(0xc000_0235))

    @Loop
    private final class Fixture {
        let clock = ManualClock()
        var events: [ResolverEvent] = []
        /// Does not reply.
        let raw: LocalDNSRawServer
        let server: LocalDNSServer
        private(set) lazy var localDNS = LocalDNS(
            groups: [[server]], loop: LoopRunner.shared.loop, clock: clock
        ) { self.events.append($0) }

        init() throws {
            raw = try LocalDNSRawServer()
            server = LocalDNSServer(.v4(0x7f00_0001), port: raw.port)
        }

        func fail() { localDNS.doubted(server, since: clock.now) }

        func answer(by server: LocalDNSServer) {
            localDNS.answered(server, Question(name: .root, type: .a), for: .machine)
        }
    }

    @Test @Loop func `questions that fail are no news, nor is the next answer`() throws {
        let fixture = try Fixture()
        for _ in 0..<5 { fixture.fail() }
        fixture.answer(by: fixture.server)
        #expect(fixture.events.isEmpty)
    }

    @Test @Loop func `a server whose probes fail is reported once, and so is its return`() async throws {
        let fixture = try Fixture()
        for _ in 0..<10 {
            fixture.fail()
            await fixture.clock.advance(by: .seconds(6))
        }
        let silent = ResolverEvent.serverSilent(
            upstream: "localdns", server: fixture.server.description, reason: "no answer in time")
        #expect(fixture.events == [silent])
        for _ in 0..<2 { fixture.answer(by: fixture.server) }
        #expect(
            fixture.events == [
                silent, .serverRecovered(upstream: "localdns", server: fixture.server.description),
            ])
    }

    @Test @Loop func `a probe that fails while questions are answered is no failure`() async throws {
        let fixture = try Fixture()
        fixture.fail()
        await fixture.clock.advance(by: .milliseconds(500))
        fixture.answer(by: fixture.server)
        await fixture.clock.advance(by: .seconds(2))
        #expect(fixture.events.isEmpty)
    }

    @Test @Loop func `servers are reported as working once one has answered, and again when there are others`() throws {
        let fixture = try Fixture()
        var working: [[LocalDNSServer]] = []
        fixture.localDNS.onWorking = { working.append($0) }
        for _ in 0..<2 { fixture.answer(by: fixture.server) }
        let other = LocalDNSServer(.v4(0xc000_0236))
        fixture.localDNS.useServers([[other]])
        #expect(working == [[fixture.server]])
        fixture.answer(by: other)
        #expect(working == [[fixture.server], [other]])
    }

    @Test @Loop func `while no server can be found, those that worked for an earlier process are asked`() async throws {
        let clock = ManualClock()
        let localDNS = LocalDNS(groups: [], loop: LoopRunner.shared.loop, clock: clock)
        localDNS.findServers = { [] }
        let question = UpstreamQuestion(name: try Name("www.example.com"), types: [.a], deadline: clock.now)
        _ = await localDNS.ask(question)
        #expect(localDNS.servers == [])
        localDNS.restore([Self.server])
        _ = await localDNS.ask(question)
        #expect(localDNS.servers == [Self.server])
    }

    @Test @Loop func `while there is no server questions have one looked for at most once a second`() async throws {
        let clock = ManualClock()
        let localDNS = LocalDNS(groups: [], loop: LoopRunner.shared.loop, clock: clock)
        var searches = 0
        localDNS.findServers = {
            searches += 1
            return []
        }
        for _ in 0..<3 { _ = await localDNS.ask(try question("a.example")) }
        #expect(searches == 1)
        await clock.advance(by: .seconds(1))
        _ = await localDNS.ask(try question("a.example"))
        #expect(searches == 2)
    }
}
