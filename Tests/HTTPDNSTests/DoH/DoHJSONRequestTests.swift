import DNSWire
import HTTPDNS
import Testing
import Upstreams

/// The requests to a DoH server that responds in JSON.
struct DoHJSONRequestTests {
    static let secret = Secret("s3cr3ts3cr3t")
    static let signing = DoHJSONFormat(account: account(OpenSSLCrypto()))

    private static func account(_ crypto: any Crypto) -> AliDNSAccount {
        AliDNSAccount(id: "123456", accessKeyID: "ak0001", secret: secret, crypto: crypto)
    }

    private func target(
        _ format: DoHJSONFormat = DoHJSONFormat(), _ text: String = "www.example.com", _ types: [RecordType] = [.a],
        checkingDisabled: Bool = false, at time: Int64 = 1_700_000_000
    ) throws(UpstreamFailure) -> String {
        let question = UpstreamQuestion(name: name(text), types: types, checkingDisabled: checkingDisabled)
        return try format.request(for: question, at: time).target
    }

    @Test(arguments: [(RecordType.a, "A"), (.aaaa, "AAAA")])
    func `the name and the type are asked at the path of the URL`(type: RecordType, text: String) throws {
        #expect(try target(DoHJSONFormat(), "www.example.com", [type]) == "/resolve?name=www.example.com&type=\(text)")
        #expect(
            try target(DoHJSONFormat(path: "/dns-query"), "www.example.com", [type])
                == "/dns-query?name=www.example.com&type=\(text)")
    }

    @Test func `a request is a GET that accepts what Cloudflare insists on`() throws {
        let question = UpstreamQuestion(name: name("www.example.com"), types: [.a])
        let request = try DoHJSONFormat().request(for: question, at: 0)
        #expect(request.body == nil)
        #expect(request.headers == [["Accept", "application/dns-json"]])
    }

    @Test(arguments: [
        ("www.example.com", "dfaccfb6b2ad51f787820af91f780f3c67cf248b618d15f4e3625dee5659db7e"),
        ("api.example.com", "b8a795e4df104a85e307dd68d5d6fdaf54b793f04f5b230c7a0deca255bdaa1f"),
    ])
    func `with an account at AliDNS every request is signed`(host: String, key: String) throws {
        #expect(
            try target(Self.signing, host)
                == "/resolve?name=\(host)&type=A&uid=123456&ak=ak0001&ts=1700000000&key=\(key)")
    }

    @Test(arguments: [Int64.min, -1, 0])
    func `the timestamp is never negative`(time: Int64) throws {
        #expect(try target(Self.signing, at: time).contains("&ts=0&key="))
    }

    @Test func `an account with other bytes does no harm to the query`() throws {
        let account = AliDNSAccount(id: "a&b", accessKeyID: "c d", secret: Self.secret, crypto: OpenSSLCrypto())
        #expect(try target(DoHJSONFormat(account: account)).contains("&uid=a%26b&ak=c%20d&ts="))
    }

    @Test func `CD is passed on`() throws {
        #expect(
            try target(checkingDisabled: true) == "/resolve?name=www.example.com&type=A&cd=1")
    }

    @Test(arguments: ["_sip._tcp.example.com", "xn--bcher-kva.example", "a-b.example.com", "localhost"])
    func `host names are asked for`(text: String) throws {
        #expect(try target(DoHJSONFormat(), text).contains("name=\(text)&"))
    }

    @Test(arguments: [
        ".", "bücher.example", #"a\.b.example"#, "*.example.com", #"a\032b.example"#, "a&b.example", "192.0.2.1",
        #"\000.example"#,
    ])
    func `a name that a service might read otherwise is not asked for`(text: String) {
        let question = UpstreamQuestion(name: name(text), types: [.a])
        let error = #expect(throws: UpstreamFailure.self) { try DoHJSONFormat().request(for: question, at: 0) }
        guard case .rejected = error else {
            Issue.record("\(text): \(String(describing: error))")
            return
        }
    }

    @Test(arguments: [[], [.txt], [.a, .aaaa], [.any], [.https]] as [[RecordType]])
    func `other types and two at a time are not asked for`(types: [RecordType]) {
        #expect(throws: UpstreamFailure.self) { try target(DoHJSONFormat(), "www.example.com", types) }
    }

    @Test func `only A and AAAA are answered, each in a call of its own`() {
        let format = DoHJSONFormat()
        #expect(!format.answersBothFamilies)
        #expect((UInt16.min...UInt16.max).filter { format.answers(RecordType(rawValue: $0)) } == [1, 28])
    }

    @Test func `without SHA-256 nothing is sent unsigned`() {
        let format = DoHJSONFormat(account: Self.account(AliyunRequestTests.NoCrypto()))
        #expect(throws: UpstreamFailure.self) { try target(format) }
    }

    @Test func `the secret shows in no description and no dump`() {
        var dumped = ""
        dump(Self.signing, to: &dumped)
        for text in [dumped, "\(Self.signing)", String(reflecting: Self.signing)] {
            #expect(!text.contains(Self.secret.value))
        }
    }
}
