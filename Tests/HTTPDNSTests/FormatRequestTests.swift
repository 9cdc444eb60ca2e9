import DNSWire
import HTTPDNS
import Testing
import Upstreams

/// As on a system whose policy forbids the algorithms.
struct NoCrypto: Crypto {
    func md5(_ bytes: [UInt8]) -> [UInt8]? { nil }
    func sha256(_ bytes: [UInt8]) -> [UInt8]? { nil }
    func hmacSHA256(_ bytes: [UInt8], key: [UInt8]) -> [UInt8]? { nil }
    func randomBytes(_ count: Int) -> [UInt8]? { nil }
    func encrypt(_ plaintext: [UInt8], _ cipher: PayloadCipher, key: [UInt8], iv: [UInt8]) -> [UInt8]? { nil }
    func decrypt(_ ciphertext: [UInt8], _ cipher: PayloadCipher, key: [UInt8], iv: [UInt8]) -> [UInt8]? { nil }
}

/// What the requests of the vendors' forms have in common, each form in all its modes.
struct FormatRequestTests {
    /// A form in one mode.
    struct Form: Sendable, CustomTestStringConvertible {
        let testDescription: String
        /// With the cryptography that it gets.
        let make: @Sendable (any Crypto) -> any ProviderFormat
        /// What is in no description of it.
        var secrets: [String] = []
        var format: any ProviderFormat { make(CountingIVs()) }
    }

    private static let key = AliyunV2Tests.key

    static let forms = [
        Form(
            testDescription: "aliyun",
            make: { AliyunFormat(account: "1", secret: AliyunRequestTests.secret, crypto: $0) },
            secrets: [AliyunRequestTests.secret.value]),
        Form(
            testDescription: "aliyun-v2", make: { AliyunV2Tests.format(crypto: $0) },
            secrets: [AliyunV2Tests.secret.value]),
        Form(
            testDescription: "aliyun-v2, CBC", make: { AliyunV2Tests.format(.cbc(key, $0), secret: nil) },
            secrets: [key.value]),
        Form(
            testDescription: "aliyun-v2, GCM", make: { AliyunV2Tests.format(.gcm(key, $0), secret: nil) },
            secrets: [key.value]),
        Form(
            testDescription: "tencent, DES",
            make: { TencentFormat(.encrypted(.des(TencentTests.desKey, $0), id: "1")) },
            secrets: [TencentTests.desKey.value]),
        Form(
            testDescription: "tencent, AES",
            make: { TencentFormat(.encrypted(.aes(TencentTests.aesKey, $0), id: "1")) },
            secrets: [TencentTests.aesKey.value]),
        Form(
            testDescription: "doh-json, with an account",
            make: {
                DoHJSONFormat(
                    account: AliDNSAccount(id: "1", accessKeyID: "ak", secret: DoHJSONRequestTests.secret, crypto: $0))
            }, secrets: [DoHJSONRequestTests.secret.value]),
    ]
    /// Those that need no cryptography.
    static let plain = [
        Form(testDescription: "aliyun, unsigned", make: { AliyunFormat(account: "1", secret: nil, crypto: $0) }),
        Form(
            testDescription: "tencent-https", make: { _ in TencentFormat(.token(Secret("t0ken-123"), id: "")) },
            secrets: ["t0ken-123"]),
        Form(testDescription: "doh-json", make: { _ in DoHJSONFormat() }),
    ]

    private func request(
        _ form: Form, _ text: String = "www.example.com", _ types: [RecordType] = [.a],
        crypto: any Crypto = CountingIVs()
    ) throws(UpstreamFailure) -> HTTPRequest {
        try form.make(crypto).request(for: UpstreamQuestion(name: name(text), types: types), at: 1_700_000_000)
    }

    @Test(
        arguments: plain,
        ["_sip._tcp.example.com", "xn--bcher-kva.example", "a-b.example.com", "localhost", "node7"])
    func `host names are asked for`(form: Form, text: String) throws {
        #expect(try request(form, text).target.contains("=\(text)&"))
    }

    @Test(
        arguments: forms + plain,
        [
            ".", "bücher.example", #"a\.b.example"#, "*.example.com", #"a\032b.example"#, "a&b.example", "a%62.example",
            "a,b.example", "192.0.2.1", #"\000.example"#,
        ])
    func `a name that a service might read otherwise is not asked for`(form: Form, text: String) {
        let error = #expect(throws: UpstreamFailure.self) { try request(form, text) }
        guard case .rejected? = error else {
            Issue.record("\(String(describing: error))")
            return
        }
    }

    @Test(arguments: forms + plain, [[], [.txt], [.a, .txt], [.any], [.https]] as [[RecordType]])
    func `other types than A and AAAA are not asked for`(form: Form, types: [RecordType]) {
        #expect(throws: UpstreamFailure.self) { try request(form, "www.example.com", types) }
    }

    @Test(arguments: forms + plain)
    func `only A and AAAA are answered, both in one call but for DoH`(form: Form) {
        let isDoH = form.testDescription.hasPrefix("doh")
        #expect(form.format.answersBothFamilies != isDoH)
        #expect((UInt16.min...UInt16.max).filter { form.format.answers(RecordType(rawValue: $0)) } == [1, 28])
        if isDoH { #expect(throws: UpstreamFailure.self) { try request(form, "www.example.com", [.a, .aaaa]) } }
    }

    @Test(arguments: forms)
    func `without the cryptography that it takes nothing is sent`(form: Form) {
        #expect(throws: UpstreamFailure.self) { try request(form, crypto: NoCrypto()) }
    }

    @Test(arguments: forms + plain)
    func `no secret shows in a description or a dump`(form: Form) {
        var dumped = ""
        dump(form.format, to: &dumped)
        for text in [dumped, "\(form.format)", String(reflecting: form.format)] {
            #expect(form.secrets.allSatisfy { !text.contains($0) })
        }
    }
}
