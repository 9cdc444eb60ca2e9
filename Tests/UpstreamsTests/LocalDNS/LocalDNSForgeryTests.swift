import DNSResolver
import DNSWire
import TestSupport
import Testing

@testable import Upstreams

/// Replies that do not match the query.
@Suite(.onLoop) struct LocalDNSForgeryTests {
    @Test @Loop func `what is no response to the query, bit for bit, is ignored, and the wait goes on`() async throws {
        let forgeries: [@Loop (RawQuery) -> [UInt8]] = [
            { $0.reply([rawRecord(1, rawEvil)], id: $0.id &+ 1) },
            { $0.bareReply(code: 5, id: $0.id &+ 1) },
            { $0.reply([rawRecord(1, rawEvil)], question: [$0.question[0], 0x23] + $0.question.dropFirst(2)) },
            { $0.reply([rawRecord(1, rawEvil)], question: $0.question.dropLast(4) + [0, 28, 0, 1]) },
            { $0.reply([rawRecord(1, rawEvil)], question: $0.question.dropLast(2) + [0, 3]) },
            { $0.reply([rawRecord(1, rawEvil)], question: $0.flippedQuestion) },
            { $0.reply([rawRecord(1, rawEvil)], flags: 0x0180) },
            { $0.reply([rawRecord(1, rawEvil)], flags: 0xa180) },
            { $0.bytes },
            { _ in [] },
            { Array($0.bytes.prefix(1)) },
            { Array($0.reply().prefix(11)) },
            // Without a question a reply cannot show its letter case.
            { Array($0.reply().prefix(12)).withQuestionCount(0) },
            { Array($0.reply(flags: 0x8183).prefix(12)).withQuestionCount(0) },
        ]
        for forged in forgeries {
            let server = try LocalDNSRawServer { query in query.isTCP ? [] : [forged(query)] }
            let localDNS = makeLocalDNS([server], clock: ManualClock())
            let asked = try question("bank.example")
            async let reply = localDNS.ask(asked)
            await server.received(1)
            let query = server.queries[0]
            // The first reply to arrive is examined first.
            for _ in 0..<3 { server.send(forged(query), to: query) }
            await Loop.executor.idle()
            server.send(query.good, to: query)
            #expect(addresses(await reply) == ["192.0.2.1"])
            #expect(server.queries.count { !$0.isTCP } == 1)
        }
    }

    @Test @Loop func `a response in another letter case has it asked over TCP, once, in lower case`() async throws {
        let server = try LocalDNSRawServer { query in
            guard !query.isTCP else { return [query.good] }
            return Array(repeating: query.reply([rawRecord(1, rawEvil)], question: query.flippedQuestion), count: 3)
        }
        let localDNS = makeLocalDNS([server], clock: ManualClock())
        #expect(addresses(await localDNS.ask(try question("A-long-enough-name.bank.example"))) == ["192.0.2.1"])
        #expect(server.queries.map(\.isTCP) == [false, true])
        #expect(server.queries[1].name.allSatisfy { !(0x41...0x5a).contains($0) })
    }

    @Test @Loop func `a response in another letter case does not end the wait where there is no TCP`() async throws {
        let server = try LocalDNSRawServer()
        server.stopTCP()
        let localDNS = makeLocalDNS([server], clock: ManualClock())
        let asked = try question("bank.example")
        async let reply = localDNS.ask(asked)
        await server.received(1)
        let query = server.queries[0]
        server.send(query.reply([rawRecord(1, rawEvil)], question: query.flippedQuestion), to: query)
        for _ in 0..<10 { await Loop.executor.idle() }
        server.send(query.good, to: query)
        #expect(addresses(await reply) == ["192.0.2.1"])
    }

    @Test @Loop func `a reply from another source is not taken`() async throws {
        let server = try LocalDNSRawServer()
        let asked = try question("bank.example")
        let localDNS = makeLocalDNS([server], clock: ManualClock())
        async let reply = localDNS.ask(asked)
        await server.received(1)
        try server.sendFromElsewhere(server.queries[0].reply([rawRecord(1, rawEvil)]), to: server.queries[0])
        server.send(server.queries[0].good, to: server.queries[0])
        #expect(addresses(await reply) == ["192.0.2.1"])
        #expect(server.queries.count == 1)
    }
}

extension [UInt8] {
    /// The same message with another question count in its header.
    fileprivate func withQuestionCount(_ count: UInt8) -> [UInt8] {
        var message = self
        message[5] = count
        return message
    }
}
