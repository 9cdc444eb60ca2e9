import DNSResolver
import DNSWire
import TestSupport
import Testing

@testable import Upstreams

/// Servers that respond over TCP alone.
@Suite(.onLoop) struct LocalDNSTransportTests {
    private let clock = ManualClock()
    private let answer: @Loop (RawQuery) -> [[UInt8]] = { $0.isTCP ? [$0.good] : [] }

    @Test @Loop func `a server silent over UDP is asked over TCP too, after a probe over TCP alone`() async throws {
        let server = try LocalDNSRawServer(answer)
        let localDNS = makeLocalDNS([server], clock: clock)
        #expect(addresses(await localDNS.ask(try question("a.example"), for: 4, on: clock)) == ["192.0.2.1"])
        #expect(server.questions.map(\.isTCP) == [false, false, true])
        await repliesArrive(on: clock)
        #expect(try await localDNS.askNames(3, at: server).map(\.isTCP) == [true, true, true])
        #expect(localDNS.backoffEnd(localDNS.servers[0]) == nil)
    }

    @Test @Loop func `a server that refuses UDP is asked over TCP at once, and then over TCP alone`() async throws {
        let server = try LocalDNSRawServer(answer)
        server.stopUDP()
        let localDNS = makeLocalDNS([server], clock: clock)
        #expect(addresses(await localDNS.ask(try question("a.example"))) == ["192.0.2.1"])
        await repliesArrive(on: clock)
        #expect(try await localDNS.askNames(2, at: server).map(\.isTCP) == [true, true])
    }

    @Test @Loop func `after a while a probe tries UDP again`() async throws {
        let server = try LocalDNSRawServer(answer)
        let localDNS = makeLocalDNS([server], clock: clock)
        _ = await localDNS.ask(try question("a.example"), for: 4, on: clock)
        server.answer = { [$0.good] }
        await clock.advance(by: LocalDNSProbes.plainTime)
        #expect(try await localDNS.askNames(1, at: server).map(\.isTCP) == [true])
        await repliesArrive(on: clock)
        #expect(try await localDNS.askNames(2, at: server).map(\.isTCP) == [false, false])
    }

    @Test @Loop func `of a server that has answered over UDP no slow name is asked over TCP`() async throws {
        let server = try LocalDNSRawServer { $0.isSlow ? [] : [$0.good] }
        let localDNS = makeLocalDNS([server], clock: clock)
        _ = await localDNS.ask(try question("a.example"))
        _ = await localDNS.ask(try question("slow.example"), for: 6, on: clock)
        #expect(server.questions.allSatisfy { !$0.isTCP })
    }

    @Test @Loop func `a server that answers nothing on either transport fails as before`() async throws {
        let server = try LocalDNSRawServer()
        server.stopUDP()
        server.stopTCP()
        let reply = await makeLocalDNS([server], clock: clock).ask(try question("a.example"))
        #expect(reply.results[.a] == .failure(.network("no connection")))
    }

    @Test @Loop func `with use-vc a server is asked over TCP from the first, its probes included`() async throws {
        let server = try LocalDNSRawServer { [$0.good] }
        let localDNS = LocalDNS(
            groups: [[LocalDNSServer(.v4(0x7f00_0001), port: server.port, usesTCP: true)]],
            loop: LoopRunner.shared.loop, clock: clock)
        #expect(try await localDNS.askNames(2, at: server).map(\.isTCP) == [true, true])
        server.answer = { _ in [] }
        _ = await localDNS.ask(try question("b.example"), for: 6, on: clock)
        #expect(server.queries.contains { $0.isProbe })
        #expect(server.queries.allSatisfy { $0.isTCP })
    }
}
