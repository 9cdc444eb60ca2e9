import DNSResolver
import DNSWire
import TestSupport
import Testing

@testable import Upstreams

/// Servers that do not support EDNS.
@Suite(.onLoop) struct LocalDNSPlainTests {
    private let clock = ManualClock()

    @Test(arguments: [UInt16(1), 4], [false, true]) @Loop
    func `a server that answers EDNS with FORMERR or NOTIMP is asked without, after a probe at first`(
        code: UInt16, isBare: Bool
    ) async throws {
        let server = try LocalDNSRawServer { query in
            guard query.additionalCount == 0 else {
                return [isBare ? query.bareReply(code: code) : query.reply(flags: 0x8180 | code)]
            }
            return [query.good]
        }
        let localDNS = makeLocalDNS([server], clock: clock)
        #expect(try await localDNS.askNames(1, at: server).map(\.additionalCount) == [1, 0])
        await repliesArrive(on: clock)
        #expect(server.queries.filter(\.isProbe).map(\.additionalCount) == [1, 0])
        #expect(try await localDNS.askNames(3, at: server).map(\.additionalCount) == [0, 0, 0])
        // Then a probe tries EDNS again.
        await clock.advance(by: LocalDNSProbes.plainTime)
        #expect(try await localDNS.askNames(1, at: server).map(\.additionalCount) == [0])
        await repliesArrive(on: clock)
        #expect(server.queries.filter(\.isProbe).map(\.additionalCount) == [1, 0, 1, 0])
        // It now supports EDNS, and is asked with it again.
        server.answer = { [$0.good] }
        await clock.advance(by: LocalDNSProbes.plainTime)
        #expect(try await localDNS.askNames(1, at: server).map(\.additionalCount) == [0])
        await repliesArrive(on: clock)
        #expect(try await localDNS.askNames(2, at: server).map(\.additionalCount) == [1, 1])
    }

    @Test(arguments: [UInt16(1), 4], [false, true]) @Loop
    func `FORMERR or NOTIMP for one client's names costs other names no EDNS`(code: UInt16, isBare: Bool) async throws {
        let server = try LocalDNSRawServer { query in
            guard query.isSlow, query.additionalCount > 0 else { return [query.good] }
            return [isBare ? query.bareReply(code: code) : query.reply(flags: 0x8180 | code)]
        }
        let localDNS = makeLocalDNS([server], clock: clock)
        for number in 0..<5 {
            // The name itself is asked without EDNS at once.
            #expect(addresses(await localDNS.ask(try question("slow\(number).example"))) == ["192.0.2.1"])
            await repliesArrive(on: clock)
        }
        #expect(try await localDNS.askNames(2, at: server).map(\.additionalCount) == [1, 1])
        #expect(server.queries.count { $0.isProbe } == 1)
    }

    @Test @Loop func `a server that refuses EDNS, and refuses the name of a probe, is asked without EDNS`() async throws
    {
        let server = try LocalDNSRawServer { query in
            if query.additionalCount > 0 { return [query.bareReply(code: 1)] }
            return [query.isProbe ? query.bareReply(code: 5) : query.good]
        }
        let localDNS = makeLocalDNS([server], clock: clock)
        _ = await localDNS.ask(try question("a.example"))
        await repliesArrive(on: clock)
        #expect(try await localDNS.askNames(1, at: server).map(\.additionalCount) == [0])
    }

    @Test(arguments: [false, true], [false, true]) @Loop
    func `a server that drops EDNS is asked without the last time, and once a probe has shown it from the first`(
        dnssecOK: Bool, refusesProbe: Bool
    ) async throws {
        let server = try LocalDNSRawServer { query in
            if query.additionalCount > 0 { return [] }
            return [query.isProbe && refusesProbe ? query.bareReply(code: 5) : query.good]
        }
        let localDNS = makeLocalDNS([server], clock: clock)
        let sends = dnssecOK ? 2 : 1
        let asked = try question("a.example", dnssecOK: dnssecOK)
        #expect(addresses(await localDNS.ask(asked, for: 4, on: clock)) == ["192.0.2.1"])
        #expect(server.questions.map(\.additionalCount) == Array(repeating: 1, count: sends) + [0])
        await repliesArrive(on: clock)
        #expect(try await localDNS.askNames(1, at: server).map(\.additionalCount) == [0])
        #expect(localDNS.backoffEnd(localDNS.servers[0]) == nil)
    }

    /// A reply that mishandles the OPT record which the query has: `kind` selects how.
    private static func mangled(_ query: RawQuery, _ kind: Int) -> [UInt8] {
        let record = rawRecord(1, rawGood)
        var reply: [UInt8]
        switch kind {
        case 0: return query.reply([record, rawOPT()])
        case 1: return query.reply([record], authorities: [rawOPT()])
        case 2: return query.reply([record], additionals: [rawOPT(), rawOPT()])
        case 3:
            // One record more than there is.
            reply = query.reply([record], additionals: [rawOPT()])
            reply[11] = 2
        case 4:
            reply = query.reply([record], additionals: [rawOPT()])
            reply[7] = 3
        default:
            // An option that reaches past the record.
            return query.reply([record], additionals: [[0, 0, 41, 4, 208, 0, 0, 0, 0, 0, 4, 0, 3, 0, 9]])
        }
        return reply
    }

    @Test(arguments: 0...5, [false, true]) @Loop
    func `a server whose reply to EDNS cannot be read is asked without, after a probe at first`(
        kind: Int, dnssecOK: Bool
    ) async throws {
        let server = try LocalDNSRawServer { query in
            [query.additionalCount == 0 ? query.good : Self.mangled(query, kind)]
        }
        let localDNS = makeLocalDNS([server], clock: clock)
        #expect(addresses(await localDNS.ask(try question("a.example", dnssecOK: dnssecOK))) == ["192.0.2.1"])
        #expect(server.questions.map(\.additionalCount) == [1, 0])
        await repliesArrive(on: clock)
        #expect(try await localDNS.askNames(3, at: server).map(\.additionalCount) == [0, 0, 0])
    }

    @Test @Loop func `a reply not read without EDNS either is asked for over TCP, and then given up`() async throws {
        let server = try LocalDNSRawServer { [Self.mangled($0, 2)] }
        let reply = await makeLocalDNS([server], clock: clock).ask(try question("a.example"))
        guard case .failure(.unusable) = reply.results[.a] else {
            Issue.record("\(reply)")
            return
        }
        #expect(server.questions.map(\.additionalCount) == [1, 0, 0])
        #expect(server.questions.map(\.isTCP) == [false, false, true])
    }

    @Test @Loop func `lost datagrams do not turn EDNS off`() async throws {
        let server = try LocalDNSRawServer()
        let localDNS = makeLocalDNS([server], clock: clock)
        for number in 0..<10 {
            let asked = try question("n\(number).example")
            server.answer = { _ in [] }
            let reply = Task { @Loop in await localDNS.ask(asked) }
            await repliesArrive(on: clock)
            server.answer = { [$0.good] }
            await clock.advance(by: .milliseconds(400))
            #expect(addresses(await reply.value) == ["192.0.2.1"])
            await clock.advance(by: .seconds(30))
            // A probe that is under way is not among the questions that follow.
            await repliesArrive(on: clock)
            #expect(try await localDNS.askNames(1, at: server).map(\.additionalCount) == [1])
        }
    }
}
