import DNSResolver
import DNSWire
import TestSupport
import Testing

@testable import Upstreams

/// What LocalDNS does with servers that behave properly.
@Suite(.onLoop) struct LocalDNSTests {
    @Test @Loop func `eighty overlapping questions leave from more than sixty ports`() async throws {
        let server = try LocalDNSRawServer()
        let localDNS = makeLocalDNS([server], clock: ManualClock())
        let replies = try await withThrowingTaskGroup(of: UpstreamReply.self) { group in
            for _ in 0..<80 { group.addTask { await localDNS.ask(try question("some-long.host-name.example")) } }
            await server.received(80)
            for query in server.queries { server.send(query.good, to: query) }
            var replies: [UpstreamReply] = []
            while let reply = try await group.next() { replies.append(reply) }
            return replies
        }
        #expect(replies.count == 80)
        #expect(replies.allSatisfy { addresses($0) == ["192.0.2.1"] })
        #expect(Set(server.queries.map(\.sourcePort)).count > 60)
        // Of 80 numbers out of 65,536, four pairs that are equal or consecutive do not occur by chance.
        let ids = server.queries.map(\.id)
        #expect(Set(ids).count > 76)
        #expect(zip(ids, ids.dropFirst()).count { $1 &- $0 == 1 } < 4)
        // 25 letters.
        #expect(Set(server.queries.map(\.name)).count > 76)
    }

    @Test @Loop func `a query has RD and an OPT record without options, and DO and CD only when asked`() async throws {
        let server = try LocalDNSRawServer { [$0.good] }
        let localDNS = makeLocalDNS([server], clock: ManualClock())
        _ = await localDNS.ask(try question("a.example"))
        _ = await localDNS.ask(try question("a.example", dnssecOK: true, checkingDisabled: true))
        #expect(server.queries.map { Array($0.bytes[2...3]) } == [[0x01, 0x00], [0x01, 0x10]])
        #expect(
            server.queries.map { Array($0.bytes.suffix(11)) }
                == [[0, 0, 41, 4, 208, 0, 0, 0, 0, 0, 0], [0, 0, 41, 4, 208, 0, 0, 0x80, 0, 0, 0]])
        #expect(server.queries.map { Array($0.bytes[4...11]) } == Array(repeating: [0, 1, 0, 0, 0, 0, 0, 1], count: 2))
    }

    @Test @Loop func `names in the answer do not show the letter case that was sent`() async throws {
        // CNAME to "a" + a pointer to ".longer-name.example" in the question, then its address.
        let server = try LocalDNSRawServer { query in
            let target: [UInt8] = [1, UInt8(ascii: "a"), 0xc0, 16]
            return [
                query.reply([
                    rawRecord(5, owner: query.name, target), rawRecord(1, owner: target, rawGood),
                ])
            ]
        }
        let asked = try question("www.longer-name.example")
        guard case .answer(let answer) = await makeLocalDNS([server], clock: ManualClock()).ask(asked).results[.a]
        else {
            Issue.record("no answer")
            return
        }
        #expect(answer.answers.map { "\($0.name)" } == ["www.longer-name.example", "a.longer-name.example"])
        #expect(answer.answers[0].canonicalName.map { "\($0)" } == "a.longer-name.example")
        #expect(answer.addresses == [.v4(0xc000_0201)])
    }

    @Test(arguments: [(UInt32(600), UInt32(30)), (30, 30), (29, 29), (0, 0)]) @Loop
    func `a TTL above the bound is cut to it, of addresses, aliases and denials`(ttl: UInt32, expected: UInt32)
        async throws
    {
        let server = try LocalDNSRawServer { query in
            let alias: [UInt8] = [1, 97, 0xc0, 12]
            let soa = [UInt8](repeating: 0, count: 21) + [200]
            return query.isSlow
                ? [query.reply(flags: 0x8183, authorities: [rawRecord(6, ttl: ttl, soa)])]
                : [
                    query.reply([
                        rawRecord(5, owner: query.name, ttl: ttl, alias), rawRecord(1, owner: alias, ttl: ttl, rawGood),
                    ])
                ]
        }
        let localDNS = LocalDNS(
            groups: [[LocalDNSServer(.v4(0x7f00_0001), port: server.port)]], maxTTL: .seconds(30),
            loop: LoopRunner.shared.loop, clock: ManualClock())
        let found = await localDNS.ask(try question("www.example")).results[.a]
        let denied = await localDNS.ask(try question("slow.example")).results[.a]
        guard case .answer(let answer) = found, case .answer(let denial) = denied else {
            Issue.record("\(String(describing: found)), \(String(describing: denied))")
            return
        }
        #expect(answer.answers.map(\.ttl) == [expected, expected])
        #expect(denial.authorities.map(\.ttl) == [expected])
    }

    @Test @Loop func `a truncated reply is asked for again over TCP and comes whole`() async throws {
        let server = try LocalDNSRawServer { query in
            guard query.isTCP else { return [query.reply(flags: 0x8380)] }
            return [query.reply((0..<200).map { rawRecord(1, [192, 0, 2, $0]) })]
        }
        let reply = await makeLocalDNS([server], clock: ManualClock()).ask(try question("many.example"))
        #expect(addresses(reply).count == 200)
        #expect(server.queries.map(\.isTCP) == [false, true])
    }

    @Test @Loop func `a server that answers FORMERR twice is not asked a third time`() async throws {
        let server = try LocalDNSRawServer { [$0.reply(flags: 0x8181, additionals: [rawOPT()])] }
        let reply = await makeLocalDNS([server], clock: ManualClock()).ask(try question("old.example"))
        #expect(reply.results[.a] == .failure(.responseCode(.formatError)))
        // Cut at the right place: what is left is header and question.
        #expect(server.queries.map(\.additionalCount) == [1, 0])
        #expect(server.queries[1].bytes.count == 12 + server.queries[1].question.count)
    }
}

@Loop
func makeLocalDNS(
    _ servers: [LocalDNSRawServer], limit: LocalDNSLimit = LocalDNSLimit(), clock: (any LoopClock)? = nil
) -> LocalDNS {
    LocalDNS(
        groups: [servers.map { LocalDNSServer(.v4(0x7f00_0001), port: $0.port) }], limit: limit,
        loop: LoopRunner.shared.loop, clock: clock)
}

extension LocalDNS {
    /// Asks while so many steps of 0.4 s pass, in each of which what is under way arrives.
    func ask(_ question: UpstreamQuestion, for steps: Int, on clock: ManualClock) async -> UpstreamReply {
        let reply = Task { @Loop in await ask(question) }
        for _ in 0..<steps {
            await repliesArrive(on: clock)
            await clock.advance(by: .milliseconds(400))
        }
        return await reply.value
    }

    /// Asks for a few names, one after the other, to each of which the server replies with `rawGood`.
    ///
    /// - Returns: the queries for them.
    func askNames(_ count: Int, at server: LocalDNSRawServer) async throws -> ArraySlice<RawQuery> {
        let before = server.questions.count
        for number in 0..<count {
            #expect(addresses(await ask(try question("n\(number).example"))) == ["192.0.2.1"])
        }
        return server.questions.dropFirst(before)
    }
}

/// A question whose deadline is five seconds ahead on the clock.
func question(
    _ name: String, dnssecOK: Bool = false, checkingDisabled: Bool = false,
    from client: String = "127.0.0.1"
) throws -> UpstreamQuestion {
    UpstreamQuestion(
        name: try Name(name), types: [.a], dnssecOK: dnssecOK, checkingDisabled: checkingDisabled,
        holder: ClientNetwork(try #require(IPAddress(client))), deadline: Instant(nanoseconds: .max))
}

func addresses(_ reply: UpstreamReply) -> [String] { addresses(reply.results[.a]) }

func addresses(_ result: UpstreamResult?) -> [String] {
    guard case .answer(let answer) = result else { return [] }
    return answer.addresses.map { "\($0)" }
}
