import DNSWire
import HTTPDNS
import Testing

/// The outcomes of JSON responses of DoH servers.
struct DoHJSONOutcomeTests {
    private static let host = name("www.example.com")
    static let question = #""Question":[{"name":"www.example.com.","type":1}]"#
    private static let soa =
        #"{"name":"example.com.","type":6,"TTL":900,"data":"ns.example.com. admin.example.com. 2024010101 7200 3600 1209600 300"}"#

    private func outcome(
        _ body: String, _ text: String = "www.example.com", type: RecordType = .a, status: Int = 200,
        format: DoHJSONFormat = DoHJSONFormat(), age: UInt32? = nil, retryAfter: UInt32? = nil, date: Int64? = nil
    ) -> ProviderOutcome {
        format.outcome(
            of: HTTPResponse(
                status: status, contentType: "text/plain", age: age, retryAfter: retryAfter, date: date,
                body: Array(body.utf8)),
            to: UpstreamQuestion(name: name(text), types: [type]))
    }

    /// The outcome of a response with these members besides `Status` 0 and the question.
    private func outcome(members: String, age: UInt32? = nil) -> ProviderOutcome {
        outcome("{\"Status\":0,\(Self.question),\(members)}", age: age)
    }

    /// One A record of the name asked for.
    private func record(
        name: String = "www.example.com.", type: String = "1", ttl: String = "60", data: String = "192.0.2.1"
    ) -> String {
        #"{"name":"\#(name)","type":\#(type),"TTL":\#(ttl),"data":"\#(data)"}"#
    }

    private func alias(_ owner: String, _ target: String, ttl: UInt32) -> Record {
        Record(name: name(owner), type: .cname, ttl: ttl, rdata: name(target).wire)
    }

    private func a(_ owner: String, _ address: String, ttl: UInt32) -> Record {
        Record(name: name(owner), address: IPAddress(address) ?? .v4(0), ttl: ttl)
    }

    // The dialects, each as its service writes it.

    @Test func `Google's reply with a chain of aliases is read`() {
        let body = """
            {"Status":0,"TC":false,"RD":true,"RA":true,"AD":false,"CD":false,"Question":[{"name":"www.example.com.",\
            "type":1}],"Answer":[{"name":"www.example.com.","type":5,"TTL":300,"data":"edge.example.net."},\
            {"name":"edge.example.net.","type":1,"TTL":60,"data":"192.0.2.1"}],"Additional":[],\
            "edns_client_subnet":"203.0.113.0/24","Comment":"Response from 192.0.2.53."}
            """
        #expect(
            onlyAnswer(outcome(body))
                == Answer(answers: [
                    alias("www.example.com", "edge.example.net", ttl: 300), a("edge.example.net", "192.0.2.1", ttl: 60),
                ]))
    }

    @Test func `Google's NXDOMAIN is explicit, for the MINIMUM of its SOA record`() throws {
        let body = """
            {"Status":3,"TC":false,"RD":true,"RA":true,"AD":false,"CD":false,"Question":[{"name":"none.example.com.",\
            "type":28}],"Authority":[\(Self.soa)]}
            """
        let answer = try #require(onlyAnswer(outcome(body, "none.example.com", type: .aaaa), .aaaa))
        #expect(answer.responseCode == .nameError)
        #expect(answer.answers.isEmpty)
        let soa = try #require(answer.authorities.first)
        #expect(answer.authorities.count == 1)
        #expect(soa.name == name("example.com"))
        #expect(soa.ttl == 300)
        #expect(
            soa.rdata
                == name("ns.example.com").wire + name("admin.example.com").wire
                + hex("78a3f175 00001c20 00000e10 00127500 0000012c"))
    }

    @Test func `Cloudflare's reply without final dots and with a list of comments is read`() throws {
        let body = """
            {"Status":0,"TC":false,"RD":true,"RA":true,"AD":true,"CD":false,"Question":[{"name":"www.example.com",\
            "type":28}],"Answer":[{"name":"www.example.com","type":28,"TTL":1726,"data":"2001:db8::1"}],\
            "Comment":["EDE(22): No Reachable Authority","EDE(23): Network Error"]}
            """
        let address = try #require(IPAddress("2001:db8::1"))
        #expect(
            onlyAnswer(outcome(body, type: .aaaa), .aaaa)
                == Answer(name: Self.host, addresses: [address], ttl: 1_726))
    }

    @Test(arguments: ["www.example.com.", "www.example.com"])
    func `AliDNS's question is an object, with a final dot or without`(questionName: String) {
        let body = """
            {"Status":0,"TC":false,"RD":true,"RA":true,"AD":false,"CD":false,"Question":{"name":"\(questionName)",\
            "type":1},"Answer":[{"name":"www.example.com.","TTL":127,"type":1,"data":"192.0.2.1"}]}
            """
        #expect(onlyAnswer(outcome(body))?.answers == [a("www.example.com", "192.0.2.1", ttl: 127)])
    }

    @Test func `DNSPod's reply is read`() {
        let body = """
            {"Status":0,"TC":false,"RD":true,"RA":true,"AD":false,"CD":false,"Question":[{"name":"www.example.com.",\
            "type":1}],"Answer":[{"name":"www.example.com.","type":1,"TTL":110,"Expires":"Tue, 14 Nov 2023 22:15:10 \
            UTC","data":"192.0.2.1"}],"edns_client_subnet":"203.0.113.0/24"}
            """
        #expect(onlyAnswer(outcome(body))?.answers == [a("www.example.com", "192.0.2.1", ttl: 110)])
    }

    @Test func `an answer without Status is one, as AdGuard sends it`() {
        #expect(onlyAnswer(outcome("{\(Self.question),\"Answer\":[\(record())]}"))?.addresses.count == 1)
    }

    // The three kinds of empty responses.

    @Test(arguments: [
        "", #","Answer":[]"#, #","Answer":null,"Authority":null"#, #","Authority":[]"#,
        #","Answer":[{"name":"www.example.com.","type":28,"TTL":60,"data":"2001:db8::1"}]"#,
    ])
    func `neither a record nor an SOA record is empty without a cause`(members: String) {
        #expect(outcome("{\"Status\":0,\(Self.question)\(members)}") == .success([.a: .indeterminateEmpty(ttl: nil)]))
    }

    @Test(arguments: [
        "ns.example.com. admin.example.com. 1 7200 3600 1209600", "ns.example.com. admin.example.com. 1 2 3 4 5 6",
        "ns.example.com. admin.example.com. 1 7200 3600 1209600 4294967296", "a..b. admin.example.com. 1 2 3 4 5", "",
        "ns.example.com. admin.example.com. 1 2 3 4 -5",
    ])
    func `an SOA record that means nothing has no effect`(data: String) {
        let soa = record(name: "example.com.", type: "6", data: data)
        #expect(outcome(members: "\"Authority\":[\(soa)]") == .success([.a: .indeterminateEmpty(ttl: nil)]))
    }

    @Test(arguments: [UInt16(1), 2, 4, 5, 9, 16, 23, 4_095])
    func `any other status is a failure that names it, with a question or without`(code: UInt16) {
        let failure = ProviderOutcome.failure(.responseCode(ResponseCode(rawValue: code)))
        #expect(outcome("{\"Status\":\(code),\(Self.question),\"Answer\":[\(record())]}") == failure)
        #expect(outcome("{\"Status\":\(code)}") == failure)
    }

    @Test(arguments: ["-1", "4096", "65536", "1e300", "-9999999999999999999", "\"SERVFAIL\"", "true", "[0]", "{}"])
    func `a status that is none is no answer`(status: String) {
        #expect(outcome("{\"Status\":\(status),\(Self.question),\"Answer\":[\(record())]}").isUnusable)
    }

    @Test func `a truncated reply is no answer`() {
        #expect(outcome(members: "\"TC\":true,\"Answer\":[\(record())]").isUnusable)
    }

    // Never a wrong address.

    @Test(arguments: [
        #"[{"name":"www.example.org.","type":1}]"#, #"{"name":"www.example.org.","type":1}"#,
        #"[{"name":"www.example.com.","type":28}]"#, #"[{"name":"www.example.com.evil.example.","type":1}]"#, "[]",
        "null", #"[{"name":"www.example.com.","type":1},{"name":"www.example.com.","type":1}]"#,
        #"[{"name":"www.example.com."}]"#, #"[{"type":1}]"#, "{}", "[[]]", "[null]", #""www.example.com.""#, "1",
        #"[{"name":"www.example.com.","type":65537}]"#, #"[{"name":"www\\.example.com.","type":1}]"#,
        #"[{"name":"","type":1}]"#, #"[{"name":["www.example.com."],"type":1}]"#,
    ])
    func `a reply to another question, to two or to none is no answer`(question: String) {
        #expect(outcome("{\"Status\":0,\"Question\":\(question),\"Answer\":[\(record())]}").isUnusable)
    }

    @Test func `the first of two questions members is the one that counts`() {
        let other = #""Question":[{"name":"www.example.org.","type":1}]"#
        #expect(outcome("{\"Status\":0,\(other),\(Self.question),\"Answer\":[\(record())]}").isUnusable)
    }

    @Test(arguments: ["WWW.Example.COM.", #"\u0077ww.example\u002ecom"#, #"www.\\101xample.com."#])
    func `the name asked may come in another letter case or escaped`(text: String) {
        let body = "{\"Status\":0,\"Question\":[{\"name\":\"\(text)\",\"type\":1}],\"Answer\":[\(record(name: text))]}"
        #expect(onlyAnswer(outcome(body))?.addresses.count == 1)
    }

    @Test(arguments: [
        "192.0.2.256", "192.0.2", "2001:db8::1", "", "192.0.2.1 ", "0x7f.1", "192.0.2.1\\n", "edge.example.net.",
        "1234567890", "192.0.2.01", "\\u0000",
    ])
    func `an address that is none spoils the reply`(data: String) {
        let records = record() + "," + record(data: data)
        #expect(outcome(members: "\"Answer\":[\(records)]").isUnusable)
    }

    @Test(arguments: [
        "a..b", ".a", String(repeating: "a", count: 64), String(repeating: "abcdefg.", count: 32), #"a\\"#, #"a\\256"#,
        #"a\\1"#,
    ])
    func `a target that is no name spoils the reply`(target: String) {
        #expect(outcome(members: "\"Answer\":[\(record(type: "5", data: target)),\(record())]").isUnusable)
        #expect(outcome(members: "\"Answer\":[\(record(name: target))]").isUnusable)
    }

    @Test(arguments: [
        #"{"type":1,"TTL":60,"data":"192.0.2.1"}"#, #"{"name":"www.example.com.","TTL":60,"data":"192.0.2.1"}"#,
        #"{"name":"www.example.com.","type":1,"TTL":60}"#, #"{"name":"www.example.com.","type":1,"TTL":60,"data":1}"#,
        #"{"name":"www.example.com.","type":1,"TTL":60,"data":null}"#, "null", "[]", "1", #""192.0.2.1""#,
        #"{"name":"www.example.com.","type":true,"TTL":60,"data":"192.0.2.1"}"#,
        #"{"name":"www.example.com.","type":-1,"TTL":60,"data":"192.0.2.1"}"#,
        #"{"name":"www.example.com.","type":65537,"TTL":60,"data":"192.0.2.1"}"#,
        #"{"name":"www.example.com.","type":"NONE","TTL":60,"data":"192.0.2.1"}"#,
    ])
    func `a record with a part missing or of another kind spoils the reply`(text: String) {
        #expect(outcome(members: "\"Answer\":[\(text)]").isUnusable)
    }

    @Test(arguments: ["1", "1.0", "1e0", "\"1\"", "\"A\"", "\"a\"", "\"TYPE1\""])
    func `a type may be a number or a text`(type: String) {
        let body =
            "{\"Status\":\"0\",\"Question\":[{\"name\":\"www.example.com.\",\"type\":\(type)}],\"Answer\":[\(record(type: type))]}"
        #expect(onlyAnswer(outcome(body))?.addresses.count == 1)
    }

    @Test func `records of other types are skipped, whatever they hold`() {
        let others = [46, 16, 65, 1_000].map { record(type: String($0), data: ##"\\# 3 zz \"A\" 8 3"##) }
        #expect(
            onlyAnswer(outcome(members: "\"Answer\":[\((others + [record()]).joined(separator: ","))]"))?.answers
                == [a("www.example.com", "192.0.2.1", ttl: 60)])
    }

    @Test(
        arguments: [
            ("0", 0), ("60.9", 60), ("\"60\"", 60), ("2147483647", 2_147_483_647), ("-1", 0), ("2147483648", 0),
            ("4294967296", 0), ("99999999999999999999", 0), ("-99999999999999999999", 0), ("1e300", 0), ("null", 0),
            ("\"soon\"", 0), ("true", 0), ("[60]", 0),
        ] as [(String, UInt32)])
    func `a TTL that is not 31 bits is 0`(text: String, ttl: UInt32) {
        #expect(onlyAnswer(outcome(members: "\"Answer\":[\(record(ttl: text))]"))?.answers.map(\.ttl) == [ttl])
    }

    @Test func `the age in an HTTP cache is taken off`() {
        #expect(
            onlyAnswer(outcome(members: "\"Answer\":[\(record(ttl: "600"))]", age: 250))?.answers.map(\.ttl) == [350])
        #expect(onlyAnswer(outcome(members: "\"Answer\":[\(record())]", age: .max))?.answers.map(\.ttl) == [0])
    }

    // Bodies that are not responses.

    @Test(arguments: [
        "", "null", "[]", #"["192.0.2.1","192.0.2.2"]"#, "{}", "{", "<html>sign in</html>", #"{"Status":0"#,
        #"{"Answer":{}}"#, #"{"Status":0,"Answer":[}"#, #"{"Status":0}{}"#, "\u{FEFF}{}", #"{"Status":null}"#,
        #"{"Status":0,"Question":[{"name":"www.example.com.","type":1}],"TC":"no"}"#,
        #"{"Status":0,"Question":[{"name":"www.example.com.","type":1}],"Answer":"192.0.2.1"}"#,
    ])
    func `a body of another form is no answer`(body: String) {
        #expect(outcome(body).isUnusable)
    }

    @Test func `a body full of records is read`() {
        let records = (0..<950).map { record(data: "192.0.\(2 + $0 / 250).\($0 % 250)") }
        let body = "\"Answer\":[\(records.joined(separator: ","))]"
        #expect(body.utf8.count > 60_000)
        #expect(onlyAnswer(outcome(members: body))?.addresses.count == 950)
    }

    // HTTP statuses.

    @Test(arguments: [
        (302, "unusable"), (400, "refused"), (401, "authentication"), (403, "authentication"), (500, "unusable"),
    ])
    func `another status than 2xx is no answer, whatever its body`(status: Int, expected: String) {
        for body in ["{\"Status\":0,\(Self.question),\"Answer\":[\(record())]}", "<html>", #"{"error":"Invalid."}"#] {
            let actual =
                switch outcome(body, status: status) {
                case .failure(.unusable(let text)):
                    text == "HTTP \(status)" ? "unusable" : text
                case .failure(.refused): "refused"
                case .failure(.authentication): "authentication"
                default: "other"
                }
            #expect(actual == expected)
        }
    }

    @Test(arguments: [200, 401, 403])
    func `a refusal without an account names its code`(status: Int) {
        #expect(
            outcome(#"{"code":"InvalidAccount"}"#, status: status, date: 1_700_000_000)
                == .failure(.authentication("InvalidAccount (HTTP \(status))")))
    }

    @Test(arguments: [200, 401, 403])
    func `a refusal of a signed request may be for our clock`(status: Int) {
        let outcome = outcome(
            #"{"code":"Anything"}"#, status: status, format: DoHJSONRequestTests.signing, date: 1_700_000_000)
        #expect(outcome == .failure(.clockSkew("Anything (HTTP \(status))", serverTime: 1_700_000_000)))
    }

}
