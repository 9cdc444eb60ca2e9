import DNSWire
import HTTPDNS
import Testing

/// The outcomes of a DoH server's responses.
struct DoHOutcomeTests {
    private static let host = name("www.example.com")
    static let aaaaReply = """
        00008180000100010000000003777777076578616d706c6503636f6d00001c0001c00c001c000100000e7d001020010db8abcd00120001000200\
        030004
        """
    private static let nxdomainReply = """
        00008183000100000001000003777777076578616d706c6503636f6d0000010001c01000060001000003840021026e73c0100561646d696ec010\
        78a3f17500001c2000000e10001275000000012c
        """

    private func outcome(
        _ body: [UInt8], type: RecordType = .a, status: Int = 200, contentType: String? = "application/dns-message",
        age: UInt32? = nil, retryAfter: UInt32? = nil
    ) -> ProviderOutcome {
        let response = HTTPResponse(
            status: status, contentType: contentType, age: age, retryAfter: retryAfter, body: body)
        return DoHFormat().outcome(of: response, to: UpstreamQuestion(name: Self.host, types: [type]))
    }

    private func outcome(_ message: Message, type: RecordType = .a, age: UInt32? = nil) -> ProviderOutcome {
        outcome(message.encoded, type: type, age: age)
    }

    private func reply(_ answers: [Record] = [], authorities: [Record] = [], code: UInt16 = 0) -> Message {
        Message(
            flags: HeaderFlags(rawValue: 0x8180 | code), questions: [Question(name: Self.host, type: .a)],
            answers: answers,
            authorities: authorities)
    }

    private func a(_ owner: Name = host, _ address: String = "192.0.2.1", ttl: UInt32 = 600) -> Record {
        Record(name: owner, address: IPAddress(address) ?? .v4(0), ttl: ttl)
    }

    @Test func `the AAAA reply of 61 bytes is read`() throws {
        let body = hex(Self.aaaaReply)
        #expect(body.count == 61)
        let address = try #require(IPAddress("2001:db8:abcd:12:1:2:3:4"))
        let expected = Answer(name: Self.host, addresses: [address], ttl: 3_709)
        #expect(onlyAnswer(outcome(body, type: .aaaa), .aaaa) == expected)
    }

    @Test func `the NXDOMAIN reply of 78 bytes is negative for 300 seconds`() throws {
        let body = hex(Self.nxdomainReply)
        #expect(body.count == 78)
        let answer = try #require(onlyAnswer(outcome(body)))
        #expect(answer.responseCode == .nameError)
        #expect(answer.answers.isEmpty)
        let soa = try #require(answer.authorities.first)
        #expect(answer.authorities.count == 1)
        #expect(soa.name == name("example.com"))
        #expect(soa.soaMinimum == 300)
        #expect(soa.ttl == 300)
    }

    @Test(arguments: [(UInt32(250), UInt32(350)), (600, 0), (601, 0), (.max, 0)])
    func `the age in an HTTP cache is taken off, to no less than 0`(age: UInt32, ttl: UInt32) {
        #expect(onlyAnswer(outcome(reply([a()]), age: age))?.answers.map(\.ttl) == [ttl])
        let negative = onlyAnswer(outcome(hex(Self.nxdomainReply), age: age))
        #expect(negative?.authorities.map(\.ttl) == [max(300, age) - age])
    }

    @Test func `NODATA with an SOA record is explicit`() {
        let soa = Record.negativeSOA(for: name("example.com"), ttl: 300)
        #expect(onlyAnswer(outcome(reply(authorities: [soa]))) == Answer(authorities: [soa]))
    }

    @Test func `nothing at all is empty without a cause`() {
        #expect(outcome(reply()) == .success([.a: .indeterminateEmpty(ttl: nil)]))
    }

    @Test(arguments: [RecordType.a, .aaaa, .txt, .https, RecordType(rawValue: 15)], [false, true])
    func `an alias without the type is NODATA although there is no SOA record: the name is known`(
        type: RecordType, isReferral: Bool
    ) {
        let alias = Record(name: Self.host, type: .cname, ttl: 300, rdata: name("edge.example.net").wire)
        let referral = Record(name: name("example.net"), type: .ns, ttl: 300, rdata: name("ns.example.net").wire)
        let message = Message(
            flags: HeaderFlags(rawValue: 0x8180), questions: [Question(name: Self.host, type: type)],
            answers: [alias], authorities: isReferral ? [referral] : [])
        #expect(onlyAnswer(outcome(message, type: type), type) == Answer(answers: [alias]))
    }

    @Test func `an alias of another name is no record of this one`() {
        let alias = Record(name: name("other.example"), type: .cname, ttl: 300, rdata: name("edge.example.net").wire)
        #expect(outcome(reply([alias])) == .success([.a: .indeterminateEmpty(ttl: nil)]))
    }

    @Test func `NXDOMAIN is explicit with an SOA record or without`() {
        #expect(onlyAnswer(outcome(reply(code: 3))) == Answer(responseCode: .nameError))
    }

    @Test(arguments: [UInt16(1), 2, 4, 5, 9])
    func `any other RCODE is a failure that names it`(code: UInt16) {
        #expect(outcome(reply(code: code)) == .failure(.responseCode(ResponseCode(rawValue: code))))
    }

    @Test(arguments: [
        "application/dns-message", "Application/DNS-Message", "application/dns-message; charset=utf-8",
        " application/dns-message ;x",
    ])
    func `the content type is read without its parameters`(contentType: String) {
        #expect(onlyAnswer(outcome(reply([a()]).encoded, contentType: contentType)) != nil)
    }

    @Test(arguments: [
        nil, "", ";", ";application/dns-message", "text/html", "application/json", "application/dns-json",
        "application/dns-messages",
    ])
    func `another content type is no answer`(contentType: String?) {
        #expect(outcome(reply([a()]).encoded, contentType: contentType).isUnusable)
    }

    @Test(arguments: [200, 201, 203, 206, 299])
    func `every 2xx status carries an answer`(status: Int) {
        #expect(onlyAnswer(outcome(reply([a()]).encoded, status: status)) != nil)
    }

    @Test(arguments: [
        (100, "unusable"), (199, "unusable"), (300, "unusable"), (302, "unusable"), (400, "refused"),
        (401, "authentication"), (403, "authentication"), (404, "unusable"), (405, "unusable"), (413, "refused"),
        (414, "refused"), (415, "unusable"), (429, "unusable"), (500, "unusable"), (502, "unusable"),
        (503, "unusable"), (504, "unusable"),
    ])
    func `another status is no answer, whatever its body`(status: Int, expected: String) {
        let actual =
            switch outcome(reply([a()]).encoded, status: status) {
            case .failure(.unusable(let text)): text == "HTTP \(status)" ? "unusable" : text
            case .failure(.refused): "refused"
            case .failure(.authentication): "authentication"
            default: "other"
            }
        #expect(actual == expected)
    }

    @Test(arguments: [429, 503])
    func `the wait that a busy server asks for is handed on`(status: Int) {
        let outcome = outcome([], status: status, contentType: "text/html", retryAfter: 30)
        #expect(outcome == .failure(.busy("HTTP \(status)", retryAfter: .seconds(30))))
    }

    @Test func `a reply with an ID, cut short, in a circle, or to another question is no answer`() {
        var message = reply([a()])
        message.id = 1
        #expect(outcome(message).isUnusable)
        message = reply([a()])
        message.flags.insert(.truncated)
        #expect(outcome(message).isUnusable)
        message.flags.remove(.truncated)
        message.questions[0].type = .aaaa
        #expect(outcome(message).isUnusable)
        let circle = Record(name: Self.host, type: .cname, ttl: 300, rdata: Self.host.wire)
        #expect(outcome(reply([circle])) == .failure(.rejected("the name's chain of aliases has no end")))
    }
}
