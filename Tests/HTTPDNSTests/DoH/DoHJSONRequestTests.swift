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
        #expect(try target(checkingDisabled: true) == "/resolve?name=www.example.com&type=A&cd=1")
    }
}
