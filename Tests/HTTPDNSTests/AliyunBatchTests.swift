import DNSWire
import HTTPDNS
import Testing

/// Several names in one call to Aliyun.
struct AliyunBatchTests {
    private static let names = ["www.example.com", "api.example.com"].map { name($0) }

    private func target(
        _ service: AliyunService, _ names: [Name] = names, _ types: [RecordType] = [.a, .aaaa]
    ) throws(ServiceFailure) -> String {
        try service.request(for: BatchQuestion(names: names, types: types), at: 1_699_999_400).target
    }

    @Test func `the names are asked and signed with commas between them`() throws {
        #expect(
            try target(AliyunRequestTests.signing)
                == "/139450/sign_resolve?host=www.example.com,api.example.com&query=4,6&t=1700000000"
                + "&s=78c64ddb70f6885e089f8ce6d7ff3bf2")
        #expect(
            try target(AliyunRequestTests.unsigned, Self.names, [.aaaa])
                == "/139450/resolve?host=www.example.com,api.example.com&query=6")
    }

    @Test func `the signature printed by Aliyun comes out`() throws {
        let service = AliyunService(account: "1", secret: Secret("IAmASecret"), crypto: CountingIVs())
        let names = ["www.aliyun.com", "www.taobao.com"].map { name($0) }
        #expect(
            try service.request(for: BatchQuestion(names: names, types: [.a]), at: 1_534_315_800).target
                == "/1/sign_resolve?host=www.aliyun.com,www.taobao.com&query=4&t=1534316400"
                + "&s=12a3f6b1b14a46ca813ca6439beb59a4")
    }

    @Test func `one to five names are taken, and none that is no host name`() {
        let many = (1...6).map { name("w\($0).example.com") }
        #expect(throws: Never.self) { try target(AliyunRequestTests.unsigned, Array(many.prefix(5))) }
        #expect(throws: Never.self) { try target(AliyunRequestTests.unsigned, Array(many.prefix(1))) }
        for names in [many, [], [name("www.example.com"), name("a,b.example")]] {
            #expect(throws: ServiceFailure.self) { try target(AliyunRequestTests.unsigned, names) }
        }
        #expect(throws: ServiceFailure.self) { try target(AliyunRequestTests.unsigned, Self.names, [.txt]) }
    }

    private func outcome(_ body: String, _ types: [RecordType] = [.a, .aaaa], status: Int = 200) -> BatchOutcome {
        AliyunRequestTests.signing.outcome(
            of: HTTPResponse(status: status, body: Array(body.utf8)),
            to: BatchQuestion(names: Self.names, types: types))
    }

    @Test func `each name and type has an element of its own, in any order`() {
        let body = """
            {"dns":[{"host":"API.example.com.","ips":[],"type":28,"ttl":3600},\
            {"host":"www.example.com","client_ip":"203.0.113.7","ips":["192.0.2.1"],"type":1,"ttl":60,"origin_ttl":600},\
            {"host":"www.example.com","ips":["2001:db8:0:0:0:0:0:1"],"type":28,"ttl":70}]}
            """
        #expect(
            outcome(body)
                == .results([
                    Self.names[0]: [
                        .a: addresses(["192.0.2.1"], ttl: 60), .aaaa: addresses(["2001:db8::1"], ttl: 70),
                    ],
                    Self.names[1]: [.aaaa: .unknownEmpty(ttl: 3600)],
                ]))
    }

    @Test func `an element without a type tells of both families`() {
        let body = #"{"dns":[{"host":"www.example.com","ips":["192.0.2.1","2001:db8::1"],"ttl":60}]}"#
        let both: ServiceResult = addresses(["2001:db8::1"], ttl: 60)
        #expect(outcome(body) == .results([Self.names[0]: [.a: addresses(["192.0.2.1"], ttl: 60), .aaaa: both]]))
        #expect(outcome(body, [.aaaa]) == .results([Self.names[0]: [.aaaa: both]]))
    }

    @Test func `the first of two elements for the same counts`() {
        let body =
            #"{"dns":[{"host":"www.example.com","ips":["192.0.2.1"],"type":1,"ttl":60},"#
            + #"{"host":"www.example.com","ips":["192.0.2.66"],"type":1,"ttl":60}]}"#
        #expect(outcome(body) == .results([Self.names[0]: [.a: addresses(["192.0.2.1"], ttl: 60)]]))
    }

    @Test func `a list of nothing is silent on all names`() { #expect(outcome(#"{"dns":[]}"#) == .results([:])) }

    @Test(arguments: ["other.example.com", "", "www..example.com"])
    func `a reply with a name that was not asked is refused whole`(other: String) {
        let body =
            #"{"dns":[{"host":"www.example.com","ips":["192.0.2.1"],"type":1,"ttl":60},"#
            + #"{"host":"\#(other)","ips":["192.0.2.1"],"type":1,"ttl":60}]}"#
        #expect(outcome(body) == .failure(.unavailable("the reply is for another name")))
    }

    @Test(arguments: [
        "", "[]", "{}", #"{"dns":null}"#, #"{"dns":{}}"#, #"{"dns":[[]]}"#, #"{"dns":[{"host":7}]}"#,
        #"{"dns":[{"host":"www.example.com","ips":["192.0.2.1"],"type":5}]}"#,
        #"{"dns":[{"host":"www.example.com","ips":["192.0.2.1"],"type":"1"}]}"#,
        #"{"dns":[{"host":"www.example.com","ips":["192.0.2.1"],"type":65537}]}"#,
    ])
    func `a body of another form is no answer`(body: String) {
        guard case .failure(.unavailable) = outcome(body) else {
            Issue.record("\(body)")
            return
        }
    }

    @Test func `errors mean what they mean for one name`() {
        #expect(
            outcome(#"{"code":"TooManyHosts"}"#, status: 400) == .failure(.rejected("TooManyHosts (HTTP 400)")))
        #expect(
            outcome(#"{"code":"InvalidSignature"}"#, status: 403)
                == .failure(.authentication("InvalidSignature (HTTP 403)")))
        #expect(outcome("<html>", status: 502) == .failure(.unavailable("HTTP 502")))
        #expect(outcome(#"{"dns":[]}"#, status: 500) == .failure(.unavailable("HTTP 500")))
    }
}
