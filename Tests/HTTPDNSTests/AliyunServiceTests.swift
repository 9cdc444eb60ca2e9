import DNSWire
import HTTPDNS
import Testing
import Upstreams

/// What Aliyun is asked.
struct AliyunRequestTests {
    static let secret = Secret("0123456789abcdef0123456789abcdef")
    static let signing = AliyunService(account: "139450", secret: secret, crypto: OpenSSLCrypto())
    static let unsigned = AliyunService(account: "139450", secret: nil, crypto: OpenSSLCrypto())

    private func target(
        _ service: AliyunService, _ text: String = "www.example.com", _ types: [RecordType] = [.a, .aaaa],
        at time: Int64 = 1_699_999_400
    ) throws(ServiceFailure) -> String {
        try service.request(for: ServiceQuestion(name: name(text), types: types), at: time).target
    }

    @Test func `a signed request for both families expires ten minutes from now`() throws {
        #expect(
            try target(Self.signing)
                == "/139450/sign_d?host=www.example.com&query=4,6&t=1700000000&s=46667e265e1d713ff6ce351585a707b8")
    }

    @Test func `the expiry is signed`() throws {
        #expect(
            try target(Self.signing, at: 1_699_999_399).hasSuffix("&t=1699999999&s=a25449cb380fc95de99069fe875d7cde"))
    }

    @Test func `the signature printed by Aliyun comes out`() throws {
        let service = AliyunService(account: "1", secret: Secret("IAmASecret"), crypto: OpenSSLCrypto())
        #expect(
            try target(service, "www.aliyun.com", [.a], at: 1_534_315_800)
                == "/1/sign_d?host=www.aliyun.com&query=4&t=1534316400&s=60c71e98b6d7fcbb366243e224eab457")
    }

    @Test(
        arguments: [
            ([.a], "4"), ([.aaaa], "6"), ([.a, .aaaa], "4,6"), ([.aaaa, .a], "4,6"),
        ] as [([RecordType], String)])
    func `the families asked are those of the types`(types: [RecordType], query: String) throws {
        #expect(try target(Self.unsigned, types: types) == "/139450/d?host=www.example.com&query=\(query)")
    }

    private func target(_ service: AliyunService, types: [RecordType]) throws(ServiceFailure) -> String {
        try target(service, "www.example.com", types)
    }

    @Test func `a request is a GET without headers`() throws {
        let question = ServiceQuestion(name: name("www.example.com"), types: [.a])
        let request = try Self.signing.request(for: question, at: 0)
        #expect(request.body == nil)
        #expect(request.headers.isEmpty)
    }

    @Test(arguments: [Int64.min, -1, 0, 9_999_999_999, .max])
    func `the expiry has ten digits whatever the clock says`(time: Int64) throws {
        let target = try target(Self.signing, at: time)
        #expect(target.split(separator: "&").first { $0.hasPrefix("t=") }?.count == 12)
    }

    @Test func `an account that is no number does no harm to the path`() throws {
        let service = AliyunService(account: "a/../b?c d", secret: nil, crypto: OpenSSLCrypto())
        #expect(try target(service).hasPrefix("/a%2F..%2Fb%3Fc%20d/d?host="))
    }

    @Test(arguments: ["_sip._tcp.example.com", "xn--bcher-kva.example", "a-b.example.com", "localhost"])
    func `host names are asked for`(text: String) throws {
        #expect(try target(Self.unsigned, text).contains("host=\(text)&"))
    }

    @Test(arguments: [
        ".", "bücher.example", #"a\.b.example"#, "*.example.com", #"a\032b.example"#, "a&b.example", "a%62.example",
        "a,b.example", "192.0.2.1", #"\000.example"#,
    ])
    func `a name with other bytes is not asked for`(text: String) {
        let question = ServiceQuestion(name: name(text), types: [.a])
        let error = #expect(throws: ServiceFailure.self) { try Self.signing.request(for: question, at: 0) }
        guard case .rejected = error else {
            Issue.record("\(text): \(String(describing: error))")
            return
        }
    }

    @Test(arguments: [[], [.txt], [.a, .txt], [.any]] as [[RecordType]])
    func `other types are not asked for`(types: [RecordType]) {
        #expect(throws: ServiceFailure.self) { try target(Self.signing, types: types) }
    }

    @Test func `only A and AAAA are answered, both in one call`() {
        #expect(Self.signing.answersBothFamilies)
        #expect((UInt16.min...UInt16.max).filter { Self.signing.answers(RecordType(rawValue: $0)) } == [1, 28])
    }

    private struct NoMD5: Crypto {
        func md5(_ bytes: [UInt8]) -> [UInt8]? { nil }
    }

    @Test func `without MD5 nothing is sent unsigned`() {
        let service = AliyunService(account: "1", secret: Self.secret, crypto: NoMD5())
        #expect(throws: ServiceFailure.self) { try target(service) }
    }

    @Test func `the secret shows in no description and no dump`() {
        var dumped = ""
        dump(Self.signing, to: &dumped)
        for text in [dumped, "\(Self.signing)", String(reflecting: Self.signing), "\(Self.secret)"] {
            #expect(!text.contains(Self.secret.value))
        }
    }
}

/// What Aliyun's replies mean.
struct AliyunOutcomeTests {
    private static let host = name("www.example.com")

    private func outcome(
        _ body: String, status: Int = 200, types: [RecordType] = [.a, .aaaa], retryAfter: UInt32? = nil,
        date: Int64? = nil
    ) -> ServiceOutcome {
        AliyunRequestTests.signing.outcome(
            of: HTTPResponse(status: status, retryAfter: retryAfter, date: date, body: Array(body.utf8)),
            to: ServiceQuestion(name: Self.host, types: types))
    }

    private func answer(_ addresses: [String], ttl: UInt32) -> ServiceResult {
        .answer(Answer(name: Self.host, addresses: addresses.compactMap { IPAddress($0) }, ttl: ttl))
    }

    @Test func `both families come from one reply, with its TTL and not that of the authority`() {
        let body = """
            {"host":"www.example.com","ips":["192.0.2.1","192.0.2.2"],"ipsv6":["2001:db8:0:0:0:0:0:1"],"ttl":60,\
            "origin_ttl":600,"client_ip":"203.0.113.7"}
            """
        #expect(
            outcome(body)
                == .results([.a: answer(["192.0.2.1", "192.0.2.2"], ttl: 60), .aaaa: answer(["2001:db8::1"], ttl: 60)]))
    }

    @Test func `only what was asked is answered`() {
        let body = #"{"host":"www.example.com","ips":["192.0.2.1"],"ipsv6":["2001:db8::1"],"ttl":60}"#
        #expect(outcome(body, types: [.aaaa]) == .results([.aaaa: answer(["2001:db8::1"], ttl: 60)]))
    }

    @Test(arguments: [
        #"{"host":"www.example.com","ips":[],"ttl":300}"#, #"{"host":"www.example.com","ips":[],"ipsv6":[],"ttl":300}"#,
        #"{"host":"www.example.com","ips":null,"ipsv6":null,"ttl":300}"#, #"{"host":"www.example.com","ttl":300}"#,
    ])
    func `no address is empty without a cause, in each family`(body: String) {
        #expect(outcome(body) == .results([.a: .unknownEmpty(ttl: 300), .aaaa: .unknownEmpty(ttl: 300)]))
    }

    @Test func `an empty family does not inherit a long TTL`() {
        let body = #"{"host":"www.example.com","ips":["192.0.2.1"],"ipsv6":[],"ttl":86400}"#
        #expect(outcome(body) == .results([.a: answer(["192.0.2.1"], ttl: 86_400), .aaaa: .unknownEmpty(ttl: 300)]))
    }

    @Test(arguments: ["0", "-1", "-9999999999999999999", "0.9", "null"])
    func `a TTL of 0 or less becomes the least one`(ttl: String) {
        let body = #"{"host":"www.example.com","ips":["192.0.2.1"],"ttl":\#(ttl)}"#
        #expect(outcome(body) == .results([.a: answer(["192.0.2.1"], ttl: 60), .aaaa: .unknownEmpty(ttl: nil)]))
    }

    @Test(arguments: ["2147483648", "99999999999999999999", "1e300"])
    func `a TTL past 31 bits is the longest one`(ttl: String) {
        let body = #"{"host":"www.example.com","ips":["192.0.2.1"],"ttl":\#(ttl)}"#
        #expect(outcome(body, types: [.a]) == .results([.a: answer(["192.0.2.1"], ttl: 0x7fff_ffff)]))
    }

    @Test func `a missing TTL is the least one`() {
        let body = #"{"host":"www.example.com","ips":["192.0.2.1"]}"#
        #expect(outcome(body, types: [.a]) == .results([.a: answer(["192.0.2.1"], ttl: 60)]))
    }

    @Test func `text that is no address, and addresses of the other family, are dropped`() {
        let body = """
            {"host":"www.example.com","ips":["", "2001:db8::2", "192.0.2.1", "192.0.2.1 ", 7, null, ["192.0.2.3"],\
            "192.0.2.1"],"ipsv6":["192.0.2.9","2001:db8::1","::ffff:1.2.3.4.5"],"ttl":60}
            """
        #expect(
            outcome(body) == .results([.a: answer(["192.0.2.1"], ttl: 60), .aaaa: answer(["2001:db8::1"], ttl: 60)]))
    }

    @Test func `a family whose entries were all dropped is empty`() {
        let body = #"{"host":"www.example.com","ips":["x"],"ttl":60}"#
        #expect(outcome(body, types: [.a]) == .results([.a: .unknownEmpty(ttl: 60)]))
    }

    @Test(arguments: ["WWW.Example.COM", "www.example.com."])
    func `letter case and final dot of the host do not count`(host: String) {
        let body = #"{"host":"\#(host)","ips":["192.0.2.1"],"ttl":60}"#
        #expect(outcome(body, types: [.a]) == .results([.a: answer(["192.0.2.1"], ttl: 60)]))
    }

    @Test(arguments: [
        #"{"host":"api.example.com","ips":["192.0.2.1"],"ttl":60}"#, #"{"host":"","ips":["192.0.2.1"],"ttl":60}"#,
        #"{"ips":["192.0.2.1"],"ttl":60}"#, #"{"host":null,"ips":["192.0.2.1"],"ttl":60}"#,
        #"{"host":"www..example.com","ips":["192.0.2.1"],"ttl":60}"#, "{}",
    ])
    func `a reply for another name is no answer`(body: String) {
        #expect(outcome(body) == .failure(.unavailable("the reply is for another name")))
    }

    @Test(arguments: [
        "", "<html>", "null", "[]", "\"host\"", #"{"host":"www.example.com","ips":["192.0.2.1"],"ttl":60"#,
        #"{"host":"www.example.com","ips":"192.0.2.1","ttl":60}"#, #"{"host":"www.example.com","ips":[],"ttl":"60"}"#,
        #"{"host":7,"ips":[]}"#, #"{"host":"www.example.com","ips":{"a":"192.0.2.1"}}"#,
        #"{"host":"www.example.com","ips":[]} x"#,
    ])
    func `a body of another form is no answer`(body: String) {
        guard case .failure(.unavailable) = outcome(body) else {
            Issue.record("\(body)")
            return
        }
    }

    /// What the failure of an error body asks to be done.
    private func action(_ body: String, status: Int) -> String {
        switch outcome(body, status: status, retryAfter: 7, date: 1_700_000_000) {
        case .failure(.authentication): "authentication"
        case .failure(.rejected): "rejected"
        case .failure(.unavailable(_, retryAfter: 7)): "unavailable"
        case .failure(.clockSkew(_, serverTime: 1_700_000_000)): "clock"
        default: "other"
        }
    }

    @Test(arguments: [
        ("MissingArgument", 400, "rejected"), ("InvalidHost", 400, "rejected"), ("TooManyHosts", 400, "rejected"),
        ("SdnsNotSupported", 400, "rejected"), ("MethodNotAllowed", 405, "rejected"),
        ("SignatureExpired", 403, "clock"),
        ("InvalidSignature", 403, "authentication"), ("InvalidDuration", 403, "clock"),
        ("UnsignedInterfaceDisabled", 403, "authentication"), ("InvalidAccount", 403, "authentication"),
        ("AccountNotExists", 403, "authentication"), ("ServiceLevelDeny", 403, "unavailable"),
        ("InternalError", 500, "unavailable"),
        // The code decides, whatever the status.
        ("InvalidSignature", 400, "authentication"), ("SignatureExpired", 400, "clock"),
        ("InvalidHost", 403, "rejected"),
        ("InvalidAccount", 200, "authentication"), ("InternalError", 200, "unavailable"),
        // Codes that nobody knows: the status decides.
        ("Whatever", 400, "unavailable"), ("Whatever", 403, "authentication"), ("Whatever", 429, "unavailable"),
        ("Whatever", 500, "unavailable"), ("Whatever", 200, "unavailable"), ("", 404, "unavailable"),
    ])
    func `the code of an error says what to do`(code: String, status: Int, expected: String) {
        #expect(action(#"{"code":"\#(code)"}"#, status: status) == expected)
    }

    @Test(arguments: [
        (301, "unavailable"), (400, "unavailable"), (401, "authentication"), (403, "authentication"),
        (404, "unavailable"),
        (408, "unavailable"), (429, "unavailable"), (500, "unavailable"), (502, "unavailable"), (503, "unavailable"),
        (0, "unavailable"), (999, "unavailable"),
    ])
    func `without a code the status says what to do`(status: Int, expected: String) {
        for body in ["", "<html>", "{}", #"{"code":7}"#, "[]"] { #expect(action(body, status: status) == expected) }
    }

    @Test func `addresses in an error reply are no answer`() {
        let body = #"{"host":"www.example.com","ips":["192.0.2.1"],"ttl":60}"#
        #expect(action(body, status: 500) == "unavailable")
    }

    @Test func `a strange code is not repeated in the text`() {
        for code in [#"<script>\n"#, String(repeating: "x", count: 5_000)] {
            #expect(outcome(#"{"code":"\#(code)"}"#, status: 500) == .failure(.unavailable("HTTP 500")))
        }
        #expect(
            outcome(#"{"code":"InvalidHost"}"#, status: 400) == .failure(.rejected("InvalidHost (HTTP 400)")))
    }

    @Test func `a reply cut at any byte is no answer`() {
        let body = Array(#"{"host":"www.example.com","ips":["192.0.2.1"],"ipsv6":["2001:db8::1"],"ttl":60}"#.utf8)
        for length in 0..<body.count {
            let text = String(decoding: body[..<length], as: UTF8.self)
            guard case .failure(.unavailable) = outcome(text) else {
                Issue.record("\(text)")
                return
            }
        }
    }
}
