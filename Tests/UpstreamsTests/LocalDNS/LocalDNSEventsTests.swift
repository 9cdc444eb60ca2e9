import DNSResolver
import DNSWire
import Scheduling
import TestSupport
import Testing

@testable import Upstreams

/// Events of LocalDNS's servers, on a clock that the test moves.
@Suite(.onLoop)
struct LocalDNSEventsTests {
    private static let server = LocalDNSServer(.v4(0xc000_0235))

    @Loop
    private final class Fixture {
        let clock = ManualClock()
        var events: [ResolverEvent] = []
        private(set) lazy var localDNS = LocalDNS(
            servers: [LocalDNSEventsTests.server], loop: LoopRunner.shared.loop, clock: clock
        ) { self.events.append($0) }

        func fail() { localDNS.failed(LocalDNSEventsTests.server, began: clock.now, because: "no answer in time") }
    }

    private static let silent = ResolverEvent.serverSilent(
        upstream: "localdns", server: "192.0.2.53:53", reason: "no answer in time")

    @Test @Loop func `a server that fails once is no news, nor is its next answer`() {
        let fixture = Fixture()
        for _ in 0..<5 { fixture.fail() }
        fixture.localDNS.answered(Self.server)
        #expect(fixture.events.isEmpty)
    }

    @Test @Loop func `a server whose probe fails again is reported once, and so is its return`() async {
        let fixture = Fixture()
        fixture.fail()
        for _ in 0..<10 {
            await fixture.clock.advance(by: .seconds(6))
            _ = fixture.localDNS.beginsAttempt(at: Self.server)
            fixture.fail()
        }
        #expect(fixture.events == [Self.silent])
        for _ in 0..<2 { fixture.localDNS.answered(Self.server) }
        #expect(
            fixture.events == [Self.silent, .serverRecovered(upstream: "localdns", server: "192.0.2.53:53")])
    }

    @Test @Loop func `a probe that is not over yet is no failure`() async {
        let fixture = Fixture()
        fixture.fail()
        await fixture.clock.advance(by: .seconds(2))
        _ = fixture.localDNS.beginsAttempt(at: Self.server)
        fixture.localDNS.answered(Self.server)
        #expect(fixture.events.isEmpty)
    }

    @Test @Loop func `servers are reported as working once one has answered, and again when there are others`() {
        let fixture = Fixture()
        var told: [[LocalDNSServer]] = []
        fixture.localDNS.onWorking = { told.append($0) }
        for _ in 0..<2 { fixture.localDNS.answered(Self.server) }
        let other = LocalDNSServer(.v4(0xc000_0236))
        fixture.localDNS.replaceServers([[other]])
        #expect(told == [[Self.server]])
        fixture.localDNS.answered(other)
        #expect(told == [[Self.server], [other]])
    }

    @Test @Loop func `while no server can be found, those that worked for an earlier process are asked`() async throws {
        let clock = ManualClock()
        let localDNS = LocalDNS(servers: [], loop: LoopRunner.shared.loop, clock: clock)
        localDNS.findServers = { [] }
        let question = UpstreamQuestion(name: try Name("www.example.com"), types: [.a], deadline: clock.now)
        _ = await localDNS.ask(question)
        #expect(localDNS.servers == [])
        localDNS.restore([Self.server])
        _ = await localDNS.ask(question)
        #expect(localDNS.servers == [Self.server])
    }
}
