import DNSResolver
import DNSWire
import Scheduling
import TestSupport
import Testing

@testable import Upstreams

/// Replies that are not what they should be.
@Suite(.onLoop)
struct LocalDNSForgeryTests {
    /// A false reply comes first; then the right one.
    @Loop
    private func answer(after forged: @escaping @Loop (RawQuery) -> [UInt8]) async throws -> (
        addresses: [String], queries: [RawQuery]
    ) {
        let server = try LocalDNSRawServer { [forged($0), $0.reply([rawRecord(1, rawGood)])] }
        let reply = await makeLocalDNS([server], clock: ManualClock()).ask(try question("bank.example"))
        return (addresses(reply), server.queries)
    }

    @Test @Loop func `a reply with another ID is not taken`() async throws {
        let seen = try await answer { $0.reply([rawRecord(1, rawEvil)], id: $0.id &+ 1) }
        #expect(seen.addresses == ["192.0.2.1"])
        #expect(seen.queries.count == 1)
    }

    @Test @Loop func `a reply to another name is not taken`() async throws {
        let seen = try await answer { query in
            var question = query.question
            question[1] = UInt8(ascii: "x")
            return query.reply([rawRecord(1, rawEvil)], question: question)
        }
        #expect(seen.addresses == ["192.0.2.1"])
        #expect(seen.queries.count == 1)
    }

    @Test @Loop func `a reply to another type is not taken`() async throws {
        let seen = try await answer { query in
            query.reply([rawRecord(1, rawEvil)], question: query.question.dropLast(4) + [0, 28, 0, 1])
        }
        #expect(seen.addresses == ["192.0.2.1"])
    }

    @Test @Loop func `a reply in another letter case is not taken; the question goes to TCP`() async throws {
        let seen = try await answer { query in
            guard !query.isTCP else { return query.reply([rawRecord(1, rawGood)]) }
            return query.reply([rawRecord(1, rawEvil)], question: query.flippedQuestion)
        }
        #expect(seen.addresses == ["192.0.2.1"])
        #expect(seen.queries.map(\.isTCP) == [false, true])
    }

    @Test @Loop func `a server that never keeps the letter case gives no answer, and the next one is asked`()
        async throws
    {
        let bad = try LocalDNSRawServer { [$0.reply([rawRecord(1, rawEvil)], question: $0.flippedQuestion)] }
        let good = try LocalDNSRawServer { [$0.reply([rawRecord(1, rawGood)])] }
        let clock = ManualClock()
        #expect(
            addresses(await makeLocalDNS([bad, good], clock: clock).ask(try question("a.example"))) == ["192.0.2.1"])
        guard
            case .failure(.unusable) = await makeLocalDNS([bad], clock: clock).ask(try question("a.example")).results[
                .a]
        else {
            Issue.record("taken, or another failure")
            return
        }
    }

    @Test @Loop func `a reply from another source is not taken`() async throws {
        let server = try LocalDNSRawServer()
        let asked = try question("bank.example")
        let localDNS = makeLocalDNS([server], clock: ManualClock())
        async let reply = localDNS.ask(asked)
        await server.received(1)
        server.sendFromElsewhere(server.queries[0].reply([rawRecord(1, rawEvil)]), to: server.queries[0])
        server.send(server.queries[0].reply([rawRecord(1, rawGood)]), to: server.queries[0])
        #expect(addresses(await reply) == ["192.0.2.1"])
        #expect(server.queries.count == 1)
    }

    @Test @Loop func `a query sent back is not a reply`() async throws {
        let server = try LocalDNSRawServer { query in
            query.isTCP ? [query.reply([rawRecord(1, rawGood)])] : [query.bytes]
        }
        let reply = await makeLocalDNS([server], clock: ManualClock()).ask(try question("a.example"))
        #expect(addresses(reply) == ["192.0.2.1"])
    }

    @Test(arguments: [0, 1, 11]) @Loop func `fewer bytes than a header are waited out`(count: Int) async throws {
        let seen = try await answer { Array($0.bytes.prefix(count)) }
        #expect(seen.addresses == ["192.0.2.1"])
        #expect(seen.queries.count == 1)
    }

    @Test @Loop func `a reply that ends inside a record is unusable`() async throws {
        let server = try LocalDNSRawServer { [$0.reply([rawRecord(1, rawGood)]).dropLast(2)] }
        guard
            case .failure(.unusable) = await makeLocalDNS([server], clock: ManualClock()).ask(try question("a.example"))
                .results[.a]
        else {
            Issue.record("taken, or another failure")
            return
        }
        #expect(server.queries.map(\.isTCP) == [false, true])
    }

    @Test @Loop func `damaged replies never stop the process, and never give an address that was not sent`()
        async throws
    {
        var generator = SeededNumbers(0x9e37_79b9_7f4a_7c15)
        let server = try LocalDNSRawServer { query in
            var reply = query.reply(
                [rawRecord(5, [1, 120, 0xc0, 12]), rawRecord(1, rawGood)], additionals: [rawOPT()])
            for _ in 0..<3 {
                reply[.random(in: 2..<reply.count, using: &generator)] = .random(in: 0...255, using: &generator)
            }
            return [Array(reply.prefix(.random(in: 12...reply.count, using: &generator))), query.reply(flags: 0x8182)]
        }
        let localDNS = makeLocalDNS([server])
        for _ in 0..<300 {
            let reply = await localDNS.ask(try question("some-name.example"))
            #expect(Array(reply.results).count == 1)
        }
        #expect(server.connectedDescriptors == 0)
    }
}
