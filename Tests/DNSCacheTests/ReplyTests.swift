import DNSCache
import DNSWire
import Testing

struct ReplyTests {
    let stale = ExtendedError(.staleAnswer, "no upstream answered")

    private func failure(
        _ code: ResponseCode, to query: TestQuery, options: Reply.Options = Reply.Options(), limit: Int = 1_232
    ) throws -> Message {
        try MessageParser.parse(
            output { span in
                Reply.write(
                    code, to: query.query, message: query.bytes.span, options: options, limit: limit, into: &span)
            })
    }

    private func answered(
        _ query: TestQuery, records: Int = 1, aging: Reply.Aging = .fresh(age: 0),
        options: Reply.Options = Reply.Options(), limit: Int = 1_232
    ) throws -> [UInt8] {
        let answer = Answer(
            name: query.question.name, addresses: (0..<UInt32(records)).map { .v4($0) }, ttl: 300)
        let packed = try #require(PackedAnswer(answer, for: query.question))
        return output { span in
            Reply.write(
                packed, to: query.query, message: query.bytes.span, aging: aging, options: options, limit: limit,
                into: &span)
        }
    }

    @Test func `of the query's flags only opcode, RD and CD come back`() throws {
        let all = TestQuery("example.com", flags: HeaderFlags(rawValue: 0x07ff), edns: EDNS())
        let reply = try MessageParser.parse(try answered(all))
        #expect(reply.flags == [.response, .recursionDesired, .recursionAvailable, .checkingDisabled])
        let none = TestQuery("example.com", flags: [])
        #expect(try MessageParser.parse(try answered(none)).flags == [.response, .recursionAvailable])
    }

    @Test func `DO comes back in the OPT record`() throws {
        let reply = try MessageParser.parse(try answered(TestQuery("example.com", edns: EDNS(dnssecOK: true))))
        #expect(reply.edns == EDNS(dnssecOK: true))
    }

    @Test func `options of the client are never sent back`() throws {
        let options = [
            EDNSOption(code: .cookie, data: Array(1...8)),
            EDNSOption(code: .clientSubnet, data: [0, 1, 24, 0, 192, 0, 2]),
            EDNSOption(code: .tcpKeepalive, data: []), EDNSOption(code: .padding, data: [0, 0]),
        ]
        let query = TestQuery("example.com", edns: EDNS(options: options))
        #expect(try MessageParser.parse(try answered(query)).edns?.options == [])
    }

    @Test(arguments: 1...15 as ClosedRange<UInt16>)
    func `NOTIMP copies the opcode and the question, and none of the flags, which are defined for QUERY alone`(
        opcode: UInt16
    ) throws {
        let query = TestQuery("example.com", flags: HeaderFlags(rawValue: opcode << 11 | 0x07f0), edns: EDNS())
        let reply = try failure(query.query.fault, to: query)
        #expect(reply.flags == HeaderFlags(rawValue: 0x8000 | opcode << 11 | 4))
        #expect(reply.questions.count == 1)
    }

    @Test func `a question that can be read is echoed with FORMERR`() throws {
        var query = TestQuery("Example.com")
        query.bytes[11] = 1
        query = TestQuery(bytes: query.bytes)
        #expect(query.query.fault == .formatError)
        let reply = try failure(query.query.fault, to: query)
        #expect(reply.responseCode == .formatError)
        #expect(reply.questions.map { Array($0.name.wire) } == [name("Example.com").wire])
    }

    @Test func `a message of two questions gets FORMERR without one`() throws {
        var query = TestQuery("example.com")
        query.bytes[5] = 2
        query = TestQuery(bytes: query.bytes)
        let reply = try failure(query.query.fault, to: query)
        #expect(reply.responseCode == .formatError)
        #expect(reply.questions.isEmpty)
    }

    @Test func `BADVERS is spread over header and OPT record`() throws {
        let query = TestQuery("example.com", edns: EDNS(version: 1))
        let reply = try failure(query.query.fault, to: query)
        #expect(reply.flags.responseCode == .noError)
        #expect(reply.edns?.extendedResponseCode == 1)
        #expect(reply.edns?.version == 0)
        #expect(reply.responseCode == .badVersion)
    }

    @Test func `without EDNS an RCODE above 15 is SERVFAIL`() throws {
        #expect(try failure(.badVersion, to: TestQuery("example.com")).responseCode == .serverFailure)
    }

    @Test func `a refusal says why, if the client has EDNS`() throws {
        let error = ExtendedError(.prohibited, "not on the list")
        let reply = try failure(.refused, to: TestQuery("example.com", edns: EDNS()), options: .init(error: error))
        #expect(reply.responseCode == .refused)
        #expect(reply.edns?.options == [error.option])
        let plain = try failure(.refused, to: TestQuery("example.com"), options: .init(error: error))
        #expect(plain.edns == nil)
    }

    @Test(arguments: [0, 300])
    func `a stale answer has TTL 30 and its extended error, however long that is`(more: Int) throws {
        let query = TestQuery("example.com", edns: EDNS())
        let error = ExtendedError(.staleAnswer, stale.text + String(repeating: "x", count: more))
        let reply = try MessageParser.parse(
            try answered(query, records: 3, aging: .stale, options: .init(error: error)))
        #expect(reply.answers.map(\.ttl) == [30, 30, 30])
        #expect(reply.edns?.options == [error.option])
    }

    @Test func `a keepalive time-out is sent only when given`() throws {
        let query = TestQuery("example.com", edns: EDNS(options: [EDNSOption(code: .tcpKeepalive, data: [])]))
        let reply = try MessageParser.parse(try answered(query, options: .init(keepalive: 100)))
        #expect(reply.edns?.options == [EDNSOption(code: .tcpKeepalive, data: [0, 100])])
        #expect(try MessageParser.parse(try answered(query)).edns?.options == [])
    }

    @Test func `a keepalive time-out is sent as long as it fits, and before an extended error`() throws {
        let query = TestQuery("example.com", edns: EDNS(options: [EDNSOption(code: .tcpKeepalive, data: [])]))
        let whole = try answered(query).count
        let keepalive = EDNSOption(code: .tcpKeepalive, data: [0, 100])
        let short = ExtendedError(.staleAnswer).option
        let text = stale.text.utf8.count
        for (room, options) in [
            (5, []), (6, [keepalive]), (11, [keepalive]), (12, [keepalive, short]), (11 + text, [keepalive, short]),
            (12 + text, [keepalive, stale.option]),
        ] {
            let bytes = try answered(query, options: .init(error: stale, keepalive: 100), limit: whole + room)
            #expect(try MessageParser.parse(bytes).edns?.options == options)
        }
    }

    @Test func `an extended error is dropped, first its text, before an answer is truncated`() throws {
        let query = TestQuery("example.com", edns: EDNS())
        let whole = try answered(query, records: 20).count
        for (room, options) in [(100, [stale.option]), (6, [ExtendedError(.staleAnswer).option]), (5, []), (0, [])] {
            let bytes = try answered(query, records: 20, options: .init(error: stale), limit: whole + room)
            #expect(bytes.count <= whole + room)
            let reply = try MessageParser.parse(bytes)
            #expect(reply.answers.count == 20)
            #expect(reply.edns?.options == options)
        }
        let truncated = try MessageParser.parse(
            try answered(query, records: 20, options: .init(error: stale), limit: whole - 1))
        #expect(truncated.flags.contains(.truncated))
        #expect(truncated.answers.isEmpty)
        #expect(truncated.edns == EDNS())
    }

    @Test(
        arguments: [(0, 512), (511, 512), (512, 512), (1_000, 1_000), (1_232, 1_232), (65_535, 1_232)]
            as [(UInt16, Int)])
    func `a UDP reply is as long as the client takes, from 512 to 1,232 bytes`(size: UInt16, limit: Int) {
        #expect(TestQuery("example.com", edns: EDNS(udpPayloadSize: size)).query.udpLimit == limit)
    }

    @Test func `a text longer than any reply is dropped`() throws {
        let error = ExtendedError(.other, String(repeating: "x", count: 70_000))
        let reply = try failure(
            .serverFailure, to: TestQuery("example.com", edns: EDNS()), options: .init(error: error))
        #expect(reply.edns?.options == [ExtendedError(.other).option])
    }
}

extension ExtendedError {
    /// The option for it: its code and its text (RFC 8914 section 2).
    fileprivate var option: EDNSOption {
        EDNSOption(
            code: .extendedError,
            data: [UInt8(truncatingIfNeeded: code.rawValue >> 8), UInt8(truncatingIfNeeded: code.rawValue)] + text.utf8)
    }
}
