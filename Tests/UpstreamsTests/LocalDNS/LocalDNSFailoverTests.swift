import DNSResolver
import DNSWire
import TestSupport
import Testing

@testable import Upstreams

/// What LocalDNS does when a server fails or is silent, or too many questions are outstanding.
@Suite(.onLoop) struct LocalDNSFailoverTests {
    private let clock = ManualClock()

    @Test(arguments: [UInt16(2), 5], [false, true]) @Loop
    func `B10: SERVFAIL and REFUSED go on to the next server at once`(code: UInt16, isBare: Bool) async throws {
        let bad = try LocalDNSRawServer { [isBare ? $0.bareReply(code: code) : $0.reply(flags: 0x8180 | code)] }
        let good = try LocalDNSRawServer { [$0.good] }
        let reply = await makeLocalDNS([bad, good], clock: clock).ask(try question("a.example"))
        #expect(addresses(reply) == ["192.0.2.1"])
        #expect(bad.queries.count == 1)
    }

    @Test @Loop func `when every server fails the response code is reported at once`() async throws {
        let servers = try [UInt16(5), 2].map { code in try LocalDNSRawServer { [$0.reply(flags: 0x8180 | code)] } }
        let reply = await makeLocalDNS(servers, clock: clock).ask(try question("a.example"))
        #expect(reply.results[.a] == .failure(.responseCode(.refused)))
    }

    @Test @Loop func `B10: the next server joins when the first is silent, and comes first next time`() async throws {
        let dead = try LocalDNSRawServer()
        let good = try LocalDNSRawServer { [$0.good] }
        let localDNS = makeLocalDNS([dead, good], clock: clock)
        let asked = try question("a.example")
        async let first = localDNS.ask(asked)
        await dead.received(1)
        await clock.advance(by: .milliseconds(399))
        #expect(good.queries.isEmpty)
        await clock.advance(by: .milliseconds(1))
        #expect(addresses(await first) == ["192.0.2.1"])

        #expect(addresses(await localDNS.ask(asked)) == ["192.0.2.1"])
        #expect((dead.questions.count, good.questions.count) == (1, 2))
    }

    @Test @Loop func `a dead server is probed again, by no question, and used once a probe is answered`() async throws {
        let dead = try LocalDNSRawServer()
        let good = try LocalDNSRawServer { [$0.good] }
        let localDNS = makeLocalDNS([dead, good], clock: clock)
        let asked = try question("a.example")
        async let first = localDNS.ask(asked)
        await dead.received(1)
        await clock.advance(by: .milliseconds(400))
        _ = await first
        // The probe, which fails after a second; the next one may begin a second later.
        await clock.advance(by: .seconds(2))
        #expect(localDNS.backoffEnd(localDNS.servers[0]) == clock.now)
        let probes = dead.queries.count
        for _ in 0..<3 { #expect(addresses(await localDNS.ask(asked)) == ["192.0.2.1"]) }
        await dead.received(probes + 1)
        #expect(dead.questions.count == 1)

        dead.answer = { [$0.good] }
        await clock.advance(by: .milliseconds(400))
        await repliesArrive(on: clock)
        for _ in 0..<3 { _ = await localDNS.ask(asked) }
        #expect(dead.questions.count == 4)
    }

    @Test @Loop func `names that are slow cost one probe in five seconds`() async throws {
        let server = try LocalDNSRawServer { $0.isSlow ? [] : [$0.good] }
        let localDNS = makeLocalDNS([server], clock: clock)
        for number in 0..<10 {
            let asked = try question("slow\(number).example")
            Loop.spawn { _ = await localDNS.ask(asked) }
            await clock.advance(by: .milliseconds(500))
            await repliesArrive(on: clock)
        }
        #expect(server.queries.count { $0.isProbe } == 1)
    }

    @Test @Loop func `a lost datagram is sent again, with another ID and letter case`() async throws {
        let server = try LocalDNSRawServer()
        let localDNS = makeLocalDNS([server], clock: clock)
        let asked = try question("a-long-enough-name.example")
        async let reply = localDNS.ask(asked)
        await server.received(1)
        server.answer = { [$0.good] }
        await clock.advance(by: .milliseconds(400))
        #expect(addresses(await reply) == ["192.0.2.1"])
        #expect(Set(server.questions.map(\.bytes)).count == 2)
    }

    @Test @Loop func `silence ends at the question's deadline, or after LocalDNS's own time-out`() async throws {
        let server = try LocalDNSRawServer()
        let localDNS = makeLocalDNS([server], clock: clock)
        var asked = try question("a.example")
        asked.deadline = clock.now + .milliseconds(300)
        let early = asked
        async let first = localDNS.ask(early)
        await server.received(1)
        await clock.advance(by: .milliseconds(300))
        #expect(await first.results == [.a: .failure(.timeout)])

        let late = try question("a.example")
        let start = clock.now
        async let second = localDNS.ask(late)
        await server.received(2)
        await clock.advance(by: .milliseconds(1_500))
        #expect(await second.results == [.a: .failure(.timeout)])
        #expect(clock.now == start + .milliseconds(1_500))
        #expect(server.connectedDescriptors == 0)
    }

    @Test @Loop func `a closed port is a network failure, whose text has no address for clients to see`() async throws {
        var server: LocalDNSRawServer? = try LocalDNSRawServer()
        let localDNS = makeLocalDNS([server].compactMap(\.self), clock: clock)
        server = nil
        guard case .failure(.network(let text)) = await localDNS.ask(try question("a.example")).results[.a] else {
            Issue.record("not a network failure")
            return
        }
        #expect(!text.contains("127.0.0.1"))
    }

    @Test @Loop func `without a server the question fails at once`() async throws {
        let reply = await makeLocalDNS([], clock: clock).ask(try question("a.example"))
        #expect(reply.results[.a] == .failure(.noServer("localdns has no server")))
    }

    @Test @Loop func `a question that has failed at once, and is cancelled then, is not answered`() async throws {
        let attempt = makeLocalDNS([], clock: clock).begin(try question("a.example"), delayed: {}) { _ in
            Issue.record("it was cancelled")
        }
        attempt.cancel()
        await Loop.executor.idle()
    }

    @Test @Loop func `a referral is no answer`() async throws {
        let lame = try LocalDNSRawServer { [$0.reply(flags: 0x8100, authorities: [rawRecord(2, [0xc0, 12])])] }
        let good = try LocalDNSRawServer { [$0.good] }
        #expect(
            addresses(await makeLocalDNS([lame, good], clock: clock).ask(try question("a.example"))) == [
                "192.0.2.1"
            ])
    }

    @Test @Loop func `an answer is one, though its server says not that it recurses or decides`() async throws {
        let server = try LocalDNSRawServer { [$0.reply([rawRecord(1, rawGood)], flags: 0x8100)] }
        let reply = await makeLocalDNS([server], clock: clock).ask(try question("a.example"))
        #expect(addresses(reply) == ["192.0.2.1"])
    }

    @Test @Loop func `a cancelled question ends at once and leaves no descriptor`() async throws {
        let server = try LocalDNSRawServer()
        let limit = LocalDNSLimit()
        let localDNS = makeLocalDNS([server], limit: limit, clock: clock)
        let asked = try question("a.example")
        let attempt = localDNS.begin(asked, delayed: {}) { _ in Issue.record("it was cancelled") }
        await server.received(1)
        #expect(server.connectedDescriptors == 1)
        attempt.cancel()
        #expect(server.connectedDescriptors == 0)
        #expect(limit.count == 0)
    }
}
