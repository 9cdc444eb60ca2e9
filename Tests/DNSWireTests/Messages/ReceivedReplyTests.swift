import DNSWire
import Testing

/// Which parts of a response belong to the question, and which do not.
struct ReceivedReplyTests {
    private let question = Question(name: name("www.example.com"), type: .a)

    private func reply(
        _ answers: [Record] = [], authorities: [Record] = [], additionals: [Record] = [],
        flags: HeaderFlags = [.response], code: UInt16 = 0
    ) -> Message {
        Message(
            flags: HeaderFlags(rawValue: flags.rawValue | code), questions: [question], answers: answers,
            authorities: authorities, additionals: additionals)
    }

    private func answer(_ message: Message, to question: Question? = nil, dnssecOK: Bool = true) throws -> Answer {
        let reply = ReceivedReply(message, to: question ?? self.question, dnssecOK: dnssecOK)
        guard case .answer(let answer) = reply else { throw Unexpected(reply: reply) }
        return answer
    }

    private struct Unexpected: Error { let reply: ReceivedReply }

    private func a(_ owner: String, _ address: String, ttl: UInt32 = 60) -> Record {
        Record(name: name(owner), address: IPAddress(address) ?? .v4(0), ttl: ttl)
    }

    private func alias(_ owner: String, _ target: String, type: RecordType = .cname) -> Record {
        Record(name: name(owner), type: type, ttl: 300, rdata: name(target).wire)
    }

    private func signature(_ owner: String, of type: UInt8) -> Record {
        Record(name: name(owner), type: .rrsig, ttl: 300, rdata: [0, type] + Array(repeating: 0, count: 16) + [0, 1])
    }

    @Test func `the chain of aliases and the addresses at its end are retained in order`() throws {
        let records = [
            a("edge.example.net", "192.0.2.1"), alias("www.example.com", "cdn.example.net"),
            alias("cdn.example.net", "edge.example.net"), a("edge.example.net", "192.0.2.2"),
        ]
        #expect(try answer(reply(records)).answers == [records[1], records[2], records[0], records[3]])
    }

    @Test func `records that do not follow from the question are dropped`() throws {
        let wanted = a("www.example.com", "192.0.2.1")
        let records = [a("bank.example", "203.0.113.66"), wanted, alias("bank.example", "evil.example")]
        #expect(try answer(reply(records)).answers == [wanted])
    }

    @Test func `records of another class are dropped`() throws {
        var other = a("www.example.com", "203.0.113.66")
        other.class = .chaos
        #expect(try answer(reply([other])).answers.isEmpty)
    }

    @Test func `an address of the other family is not an answer`() throws {
        #expect(try answer(reply([a("www.example.com", "2001:db8::1")])).isNegative(for: .a))
    }

    @Test(arguments: [(.a, 1), (.any, 2)] as [(RecordType, Int)])
    func `of the records at the end of the chain those of the question's type are retained, for ANY all`(
        type: RecordType, count: Int
    ) throws {
        let records = [a("www.example.com", "192.0.2.1"), a("www.example.com", "2001:db8::1")]
        var message = reply(records)
        message.questions = [Question(name: name("www.example.com"), type: type)]
        #expect(try answer(message, to: message.questions[0]).answers == Array(records.prefix(count)))
    }

    @Test func `the additional section and name servers are dropped`() throws {
        let message = reply(
            [a("www.example.com", "192.0.2.1")], authorities: [alias("example.com", "ns.example.com", type: .ns)],
            additionals: [a("ns.example.com", "203.0.113.66")])
        let answer = try answer(message)
        #expect(answer.additionals.isEmpty)
        #expect(answer.authorities.isEmpty)
    }

    @Test func `a negative answer retains the SOA record of a zone above the end of the chain`() throws {
        let soa = Record.negativeSOA(for: name("example.net"), ttl: 300)
        let other = Record.negativeSOA(for: name("example.org"), ttl: 86_400)
        let message = reply([alias("www.example.com", "cdn.example.net")], authorities: [other, soa, soa])
        #expect(try answer(message).authorities == [soa])
    }

    @Test func `the TTL of the SOA record is lowered to its MINIMUM`() throws {
        var soa = Record.negativeSOA(for: name("example.com"), ttl: 300)
        soa.ttl = 900
        #expect(try answer(reply(authorities: [soa])).authorities.map(\.ttl) == [300])
        soa.ttl = 60
        #expect(try answer(reply(authorities: [soa])).authorities.map(\.ttl) == [60])
    }

    @Test func `a positive answer carries no SOA record`() throws {
        let message = reply(
            [a("www.example.com", "192.0.2.1")], authorities: [.negativeSOA(for: name("example.com"), ttl: 9)])
        #expect(try answer(message).authorities.isEmpty)
    }

    @Test func `NXDOMAIN with addresses retains its RCODE and loses the addresses`() throws {
        let answer = try answer(reply([a("www.example.com", "192.0.2.1")], code: 3))
        #expect(answer == Answer(responseCode: .nameError))
    }

    @Test func `NXDOMAIN behind an alias retains the alias`() throws {
        let records = [alias("www.example.com", "gone.example.net")]
        #expect(try answer(reply(records, code: 3)) == Answer(responseCode: .nameError, answers: records))
    }

    @Test func `aliases in a circle are a failure of the upstream`() {
        let records = [alias("www.example.com", "b.example"), alias("b.example", "www.example.com")]
        #expect(ReceivedReply(reply(records), to: question, dnssecOK: true) == .endlessAliases)
    }

    @Test func `sixteen aliases are followed, and seventeen are not`() throws {
        let chain =
            [alias("www.example.com", "n1.example")] + (1...15).map { alias("n\($0).example", "n\($0 + 1).example") }
        #expect(try answer(reply(chain)).answers.count == 16)
        let longer = chain + [alias("n16.example", "n17.example")]
        #expect(ReceivedReply(reply(longer), to: question, dnssecOK: true) == .endlessAliases)
    }

    @Test func `a DNAME record comes with the CNAME record that follows from it`() throws {
        let dname = alias("example.com", "example.net", type: .dname)
        let synthesized = alias("www.example.com", "www.example.net")
        let address = a("www.example.net", "192.0.2.1")
        #expect(try answer(reply([dname, synthesized, address])).answers == [dname, synthesized, address])
        #expect(try answer(reply([dname, address])).answers == [dname, synthesized, address])
    }

    @Test func `a DNAME record at the question name itself does not rename it`() throws {
        #expect(try answer(reply([alias("www.example.com", "example.net", type: .dname)])).answers.isEmpty)
    }

    @Test func `a DNAME record that makes the name too long is a failure of the upstream`() {
        let long = [String](repeating: String(repeating: "x", count: 62), count: 4).joined(separator: ".")
        let records = [alias("example.com", long, type: .dname)]
        #expect(ReceivedReply(reply(records), to: question, dnssecOK: true) == .endlessAliases)
    }

    @Test func `signatures stay with the records that they sign`() throws {
        let cname = alias("www.example.com", "edge.example.net")
        let address = a("edge.example.net", "192.0.2.1")
        let records = [
            signature("edge.example.net", of: 28), signature("www.example.com", of: 5), cname, address,
            signature("edge.example.net", of: 1),
        ]
        #expect(try answer(reply(records)).answers == [cname, records[1], address, records[4]])
    }

    @Test func `denial proofs stay, other records of the authority section go`() throws {
        let nsec = Record(name: name("example.com"), type: .nsec, ttl: 300, rdata: [0])
        let soa = Record.negativeSOA(for: name("example.com"), ttl: 300)
        let records = [
            soa, signature("example.com", of: 6), nsec, signature("example.com", of: 47),
            signature("example.com", of: 2),
            a("example.com", "192.0.2.9"),
        ]
        #expect(try answer(reply(authorities: records)).authorities == Array(records[0...3]))
    }

    @Test func `signatures and denial proofs that were not asked for go`() throws {
        let address = a("www.example.com", "192.0.2.1")
        let positive = reply([address, signature("www.example.com", of: 1)])
        #expect(try answer(positive, dnssecOK: false).answers == [address])
        let soa = Record.negativeSOA(for: name("example.com"), ttl: 300)
        let negative = reply(
            authorities: [
                soa, signature("example.com", of: 6), signature("example.com", of: 47),
                Record(name: name("example.com"), type: .nsec, ttl: 300, rdata: [0]),
                Record(name: name("x.example.com"), type: .nsec3, ttl: 300, rdata: [0]),
            ])
        #expect(try answer(negative, dnssecOK: false).authorities == [soa])
    }

    @Test(arguments: [RecordType.rrsig, .nsec, .nsec3])
    func `signatures and denial proofs that are asked for by their type are given without DO`(type: RecordType) throws {
        let question = Question(name: name("www.example.com"), type: type)
        let record = Record(name: question.name, type: type, ttl: 300, rdata: [0, 1] + Array(repeating: 0, count: 18))
        var message = reply([record])
        message.questions = [question]
        #expect(try answer(message, to: question, dnssecOK: false).answers == [record])
    }

    @Test func `a CNAME record that contradicts its DNAME record is dropped`() throws {
        let dname = alias("example.com", "example.net", type: .dname)
        let address = a("www.example.net", "192.0.2.1")
        let forged = [alias("www.example.com", "www.example.org"), a("www.example.org", "192.0.2.66")]
        let derived = alias("www.example.com", "www.example.net")
        #expect(try answer(reply([dname] + forged + [address])).answers == [dname, derived, address])
    }

    @Test(arguments: [true, false])
    func `a question for CNAME ends at the record that follows from a DNAME record`(isWritten: Bool) throws {
        let question = Question(name: name("www.example.com"), type: .cname)
        let dname = alias("example.com", "example.net", type: .dname)
        let derived = alias("www.example.com", "www.example.net")
        var message = reply([dname] + (isWritten ? [derived] : []) + [alias("www.example.net", "www.example.org")])
        message.questions = [question]
        #expect(try answer(message, to: question).answers == [dname, derived])
    }

    @Test func `duplicates go, and the records of one set share the lowest TTL`() throws {
        let records = [
            a("www.example.com", "192.0.2.1", ttl: 90), a("www.example.com", "192.0.2.2", ttl: 30),
            a("www.example.com", "192.0.2.1", ttl: 60),
        ]
        let expected = [
            a("www.example.com", "192.0.2.1", ttl: 30), a("www.example.com", "192.0.2.2", ttl: 30),
        ]
        #expect(try answer(reply(records)).answers == expected)
    }

    @Test func `the owner that was asked in a random letter case is stored in lower case`() throws {
        let asked = Question(name: name("wWw.eXample.com"), type: .a)
        var message = reply([a("wWw.eXample.com", "192.0.2.1")])
        message.questions = [asked]
        guard case .answer(let answer) = ReceivedReply(message, to: asked, dnssecOK: true) else {
            Issue.record("no answer")
            return
        }
        #expect(answer.answers.first?.name.description == "www.example.com")
    }

    @Test func `a question in another letter case is no mismatch`() {
        let asked = Question(name: name("wWw.eXample.com"), type: .a)
        let message = reply([a("www.example.com", "192.0.2.1")])
        #expect(ReceivedReply(message, to: asked, dnssecOK: true) != .mismatch)
    }

    @Test(arguments: [
        Question(name: name("www.example.org"), type: .a), Question(name: name("www.example.com"), type: .aaaa),
        Question(name: name("www.example.com"), type: .a, class: .chaos),
    ])
    func `another question is a mismatch`(other: Question) {
        #expect(ReceivedReply(reply([a("www.example.com", "192.0.2.1")]), to: other, dnssecOK: true) == .mismatch)
    }

    @Test func `a query, another opcode and two questions are a mismatch`() {
        #expect(ReceivedReply(reply(flags: []), to: question, dnssecOK: true) == .mismatch)
        #expect(
            ReceivedReply(reply(flags: [.response, HeaderFlags(rawValue: 0x2800)]), to: question, dnssecOK: true)
                == .mismatch)
        var two = reply()
        two.questions.append(question)
        #expect(ReceivedReply(two, to: question, dnssecOK: true) == .mismatch)
    }

    @Test(arguments: [1, 2, 4, 5, 9] as [UInt16])
    func `any other RCODE is a failure`(code: UInt16) {
        #expect(
            ReceivedReply(reply(code: code), to: question, dnssecOK: true) == .failure(ResponseCode(rawValue: code)))
    }

    @Test func `an extended RCODE is seen`() {
        var message = reply()
        message.edns = EDNS(extendedResponseCode: 1)
        #expect(ReceivedReply(message, to: question, dnssecOK: true) == .failure(.badVersion))
    }

    @Test func `a failure may come without its question, an answer may not`() {
        var message = reply(code: 1)
        message.questions = []
        #expect(ReceivedReply(message, to: question, dnssecOK: true) == .failure(.formatError))
        message.flags = [.response]
        #expect(ReceivedReply(message, to: question, dnssecOK: true) == .mismatch)
    }

    @Test func `a truncated reply is not an answer`() {
        let message = reply([a("www.example.com", "192.0.2.1")], flags: [.response, .truncated])
        #expect(ReceivedReply(message, to: question, dnssecOK: true) == .truncated)
    }

    @Test func `an unknown type is taken as it is`() throws {
        let asked = Question(name: name("www.example.com"), type: RecordType(rawValue: 4_711))
        let record = Record(name: asked.name, type: asked.type, ttl: 5, rdata: [0xc0, 0x0c, 1, 2])
        let message = Message(flags: [.response], questions: [asked], answers: [record])
        #expect(ReceivedReply(message, to: asked, dnssecOK: true) == .answer(Answer(answers: [record])))
    }
}
