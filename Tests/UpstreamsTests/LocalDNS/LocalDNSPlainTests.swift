import DNSResolver
import DNSWire
import Scheduling
import TestSupport
import Testing

@testable import Upstreams

/// Servers that do not support EDNS.
@Suite(.onLoop)
struct LocalDNSPlainTests {
    @Test(arguments: [UInt16(1), 4], [false, true]) @Loop
    func `a server that answers EDNS with FORMERR or NOTIMP is asked without, at once, and so from then on`(
        code: UInt16, isBare: Bool
    ) async throws {
        let server = try LocalDNSRawServer { query in
            guard query.additionalCount == 0 else {
                return [isBare ? query.bareReply(code: code) : query.reply(flags: 0x8180 | code)]
            }
            return [query.reply([rawRecord(1, rawGood)])]
        }
        let clock = ManualClock()
        let localDNS = makeLocalDNS([server], clock: clock)
        for number in 0..<3 {
            #expect(addresses(await localDNS.ask(try question("n\(number).example"))) == ["192.0.2.1"])
        }
        #expect(server.queries.map(\.additionalCount) == [1, 0, 0, 0])
        await clock.advance(by: EDNSSupport.pause)
        for number in 0..<2 {
            #expect(addresses(await localDNS.ask(try question("n\(number).example"))) == ["192.0.2.1"])
        }
        #expect(server.queries.map(\.additionalCount) == [1, 0, 0, 0, 1, 0, 0])
        // It now supports EDNS, and is asked with it again.
        server.answer = { [$0.reply([rawRecord(1, rawGood)])] }
        await clock.advance(by: EDNSSupport.pause)
        for number in 0..<2 { _ = await localDNS.ask(try question("n\(number).example")) }
        #expect(server.queries.suffix(2).map(\.additionalCount) == [1, 1])
    }

    @Test(arguments: [false, true]) @Loop
    func `a server that drops EDNS is asked without the second time, and after some such questions from the first`(
        dnssecOK: Bool
    ) async throws {
        let server = try LocalDNSRawServer { query in
            query.additionalCount == 0 ? [query.reply([rawRecord(1, rawGood)])] : []
        }
        let clock = ManualClock()
        let localDNS = makeLocalDNS([server], clock: clock)
        let sends = dnssecOK ? 2 : 1
        for number in 0..<EDNSSupport.silenceLimit {
            let asked = try question("n\(number).example", dnssecOK: dnssecOK)
            async let reply = localDNS.ask(asked)
            for send in 1...sends {
                await server.received(number * (sends + 1) + send)
                await clock.advance(by: .milliseconds(400))
            }
            #expect(addresses(await reply) == ["192.0.2.1"])
            #expect(server.queries.count == (number + 1) * (sends + 1))
            // A silent server is not asked first for a while, but there is no other here.
            await clock.advance(by: .seconds(30))
        }
        let before = server.queries.count
        #expect(addresses(await localDNS.ask(try question("late.example", dnssecOK: dnssecOK))) == ["192.0.2.1"])
        #expect(server.queries.dropFirst(before).map(\.additionalCount) == [0])
    }

    @Test @Loop func `one lost datagram does not turn EDNS off`() async throws {
        let server = try LocalDNSRawServer()
        let clock = ManualClock()
        let localDNS = makeLocalDNS([server], clock: clock)
        for number in 0..<10 {
            let asked = try question("n\(number).example")
            server.answer = { _ in [] }
            async let reply = localDNS.ask(asked)
            await server.received(3 * number + 1)
            server.answer = { [$0.reply([rawRecord(1, rawGood)])] }
            await clock.advance(by: .milliseconds(400))
            #expect(addresses(await reply) == ["192.0.2.1"])
            await clock.advance(by: .seconds(30))
            #expect(addresses(await localDNS.ask(asked)) == ["192.0.2.1"])
            #expect(server.queries.last?.additionalCount == 1)
        }
    }

    @Test @Loop func `an error without a question and with another ID is not taken`() async throws {
        let server = try LocalDNSRawServer { query in
            (1...4).map { query.bareReply(code: 5, id: query.id &+ $0) } + [query.reply([rawRecord(1, rawGood)])]
        }
        let reply = await makeLocalDNS([server], clock: ManualClock()).ask(try question("a.example"))
        #expect(addresses(reply) == ["192.0.2.1"])
        #expect(server.queries.count == 1)
    }
}
