import DNSWire
import HTTPDNS
import Testing
import Upstreams

/// The requests to Aliyun.
struct AliyunRequestTests {
    static let secret = Secret("0123456789abcdef0123456789abcdef")
    static let signing = AliyunFormat(account: "139450", secret: secret, crypto: OpenSSLCrypto())
    static let unsigned = AliyunFormat(account: "139450", secret: nil, crypto: OpenSSLCrypto())

    private func target(
        _ format: AliyunFormat, _ text: String = "www.example.com", _ types: [RecordType] = [.a, .aaaa],
        at time: Int64 = 1_699_999_400
    ) throws(UpstreamFailure) -> String {
        try format.request(for: UpstreamQuestion(name: name(text), types: types), at: time).target
    }

    @Test func `the signature printed by Aliyun comes out`() throws {
        let format = AliyunFormat(account: "1", secret: Secret("IAmASecret"), crypto: OpenSSLCrypto())
        #expect(
            try target(format, "www.aliyun.com", [.a], at: 1_534_315_800)
                == "/1/sign_d?host=www.aliyun.com&query=4&t=1534316400&s=60c71e98b6d7fcbb366243e224eab457")
    }

    @Test(
        arguments: [
            ([.a], "4"), ([.aaaa], "6"), ([.a, .aaaa], "4,6"), ([.aaaa, .a], "4,6"),
        ] as [([RecordType], String)])
    func `the families asked are those of the types`(types: [RecordType], query: String) throws {
        #expect(try target(Self.unsigned, types: types) == "/139450/d?host=www.example.com&query=\(query)")
    }

    private func target(_ format: AliyunFormat, types: [RecordType]) throws(UpstreamFailure) -> String {
        try target(format, "www.example.com", types)
    }

    @Test(
        arguments: [
            (.min, 1_000_000_600), (-1, 1_000_000_600), (0, 1_000_000_600), (1_000_000_000, 1_000_000_600),
            (1_000_000_001, 1_000_000_601), (9_999_999_399, 9_999_999_999), (9_999_999_400, 9_999_999_999),
            (.max, 9_999_999_999),
        ] as [(Int64, Int64)])
    func `the expiry has ten digits whatever the clock says`(time: Int64, expiry: Int64) throws {
        let target = try target(Self.signing, at: time)
        #expect(target.split(separator: "&").first { $0.hasPrefix("t=") } == "t=\(expiry)")
    }

    @Test func `an account that is no number does no harm to the path`() throws {
        let format = AliyunFormat(account: "a/../b?c d", secret: nil, crypto: OpenSSLCrypto())
        #expect(try target(format).hasPrefix("/a%2F..%2Fb%3Fc%20d/d?host="))
    }
}
