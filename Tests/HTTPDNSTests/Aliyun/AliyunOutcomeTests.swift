import DNSWire
import HTTPDNS
import Testing

/// The outcomes of Aliyun's responses.
struct AliyunOutcomeTests {
    private static let host = name("www.example.com")

    private func outcome(
        _ body: String, status: Int = 200, types: [RecordType] = [.a, .aaaa], retryAfter: UInt32? = nil,
        date: Int64? = nil
    ) -> ProviderOutcome {
        AliyunRequestTests.signing.outcome(
            of: HTTPResponse(status: status, retryAfter: retryAfter, date: date, body: Array(body.utf8)),
            to: UpstreamQuestion(name: Self.host, types: types))
    }

    @Test func `only what was asked is answered`() {
        let body = #"{"host":"www.example.com","ips":["192.0.2.1"],"ipsv6":["2001:db8::1"],"ttl":60}"#
        #expect(outcome(body, types: [.aaaa]) == .success([.aaaa: addresses(["2001:db8::1"], ttl: 60)]))
    }

    @Test(arguments: [
        #"{"host":"www.example.com","ips":[],"ttl":300}"#, #"{"host":"www.example.com","ips":[],"ipsv6":[],"ttl":300}"#,
        #"{"host":"www.example.com","ips":null,"ipsv6":null,"ttl":300}"#, #"{"host":"www.example.com","ttl":300}"#,
    ])
    func `no address is empty without a cause, in each family`(body: String) {
        #expect(outcome(body) == .success([.a: .indeterminateEmpty(ttl: 300), .aaaa: .indeterminateEmpty(ttl: 300)]))
    }

    @Test(arguments: [#""999.1.1.1""#, "null", "7", #""""#, #"{"ip":"192.0.2.1"}"#, #""www.example.com", 0.5"#])
    func `a list in which nothing is an address is unreadable, and says nothing about the name`(elements: String) throws
    {
        let body = #"{"host":"www.example.com","ips":["# + elements + #"],"ipsv6":["2001:db8::1"],"ttl":60}"#
        guard case .success(let results) = outcome(body), case .failure(.unusable(let reason))? = results[.a] else {
            Issue.record("not a failure")
            return
        }
        #expect(reason.contains("nothing in its list is an address"))
        #expect(results[.aaaa] == addresses(["2001:db8::1"], ttl: 60))
    }

    @Test(
        arguments: [
            ("0", nil), ("-1", nil), ("-9999999999999999999", nil), ("0.9", nil), ("null", nil), ("86400", 86_400),
            ("2147483648", 0x7fff_ffff), ("99999999999999999999", 0x7fff_ffff), ("1e300", 0x7fff_ffff),
        ] as [(String, UInt32?)])
    func `a TTL of 0 or less becomes the least one, one past 31 bits the longest`(stated: String, ttl: UInt32?) {
        let body = #"{"host":"www.example.com","ips":["192.0.2.1"],"ttl":\#(stated)}"#
        #expect(
            outcome(body)
                == .success([.a: addresses(["192.0.2.1"], ttl: ttl ?? 60), .aaaa: .indeterminateEmpty(ttl: ttl)]))
    }

    @Test func `text that is no address, and addresses of the other family, are dropped`() {
        let body = """
            {"host":"www.example.com","ips":["", "2001:db8::2", "192.0.2.1", "192.0.2.1 ", 7, null, ["192.0.2.3"],\
            "192.0.2.1"],"ipsv6":["192.0.2.9","2001:db8::1","::ffff:1.2.3.4.5"],"ttl":60}
            """
        #expect(
            outcome(body)
                == .success([.a: addresses(["192.0.2.1"], ttl: 60), .aaaa: addresses(["2001:db8::1"], ttl: 60)]))
    }

    @Test func `a family with addresses of the other alone is empty`() {
        let body = #"{"host":"www.example.com","ips":["2001:db8::2"],"ttl":60}"#
        #expect(outcome(body, types: [.a]) == .success([.a: .indeterminateEmpty(ttl: 60)]))
    }

    @Test func `each address counts once, however long the list is`() {
        let once = (1...30).map { "192.0.2.\($0)" }
        let list = (once + once.reversed()).map { "\"\($0)\"" }.joined(separator: ",")
        #expect(
            outcome("{\"host\":\"www.example.com\",\"ips\":[\(list)],\"ttl\":60}", types: [.a])
                == .success([.a: addresses(once, ttl: 60)]))
    }

    @Test(arguments: ["a", "aaa", "a.b.c", "_sip._tcp.example.com", "xn--bcher-kva.example", "1.2.0.192.example"])
    func `a reply for the name is read, whatever the name`(host: String) {
        let response = HTTPResponse(status: 200, body: Array("{\"host\":\"\(host)\",\"ttl\":60}".utf8))
        #expect(
            AliyunRequestTests.signing.outcome(of: response, to: UpstreamQuestion(name: name(host), types: [.a]))
                == .success([.a: .indeterminateEmpty(ttl: 60)]))
    }

    @Test(arguments: ["WWW.Example.COM", "www.example.com."])
    func `letter case and final dot of the host do not count`(host: String) {
        let body = #"{"host":"\#(host)","ips":["192.0.2.1"],"ttl":60}"#
        #expect(outcome(body, types: [.a]) == .success([.a: addresses(["192.0.2.1"], ttl: 60)]))
    }

    @Test(arguments: [
        #"{"host":"api.example.com","ips":["192.0.2.1"],"ttl":60}"#, #"{"host":"","ips":["192.0.2.1"],"ttl":60}"#,
        #"{"ips":["192.0.2.1"],"ttl":60}"#, #"{"host":null,"ips":["192.0.2.1"],"ttl":60}"#,
        #"{"host":"www..example.com","ips":["192.0.2.1"],"ttl":60}"#, "{}",
        // As long as the name.
        #"{"host":"wwwxexample.com","ips":["192.0.2.1"],"ttl":60}"#,
        #"{"host":"wwwxexamplexcom","ips":["192.0.2.1"],"ttl":60}"#,
        #"{"host":"www.example-com","ips":["192.0.2.1"],"ttl":60}"#,
        #"{"host":"aaa.bbbbbbb.ddd","ips":["192.0.2.1"],"ttl":60}"#,
    ])
    func `a reply for another name is no answer`(body: String) {
        #expect(outcome(body) == .failure(.unusable("the reply is for another name")))
    }

    @Test(arguments: [
        "", "<html>", "null", "[]", "\"host\"", #"{"host":"www.example.com","ips":["192.0.2.1"],"ttl":60"#,
        #"{"host":"www.example.com","ips":"192.0.2.1","ttl":60}"#, #"{"host":"www.example.com","ips":[],"ttl":"60"}"#,
        #"{"host":7,"ips":[]}"#, #"{"host":"www.example.com","ips":{"a":"192.0.2.1"}}"#,
        #"{"host":"www.example.com","ips":[]} x"#,
    ])
    func `a body of another form is no answer`(body: String) {
        #expect(outcome(body).isUnusable)
    }

    /// The action for the failure that an error body causes.
    private func action(_ body: String, status: Int) -> String {
        switch outcome(body, status: status, retryAfter: 7, date: 1_700_000_000) {
        case .failure(.authentication): "authentication"
        case .failure(.refused): "refused"
        case .failure(.busy(_, retryAfter: .seconds(7))): "busy"
        case .failure(.clockSkew(_, serverTime: 1_700_000_000)): "clock"
        default: "other"
        }
    }

    @Test(arguments: [
        ("MissingArgument", 400, "refused"), ("InvalidHost", 400, "refused"), ("TooManyHosts", 400, "refused"),
        ("SdnsNotSupported", 400, "refused"), ("MethodNotAllowed", 405, "refused"),
        ("SignatureExpired", 403, "clock"),
        ("InvalidSignature", 403, "authentication"), ("InvalidDuration", 403, "clock"),
        ("UnsignedInterfaceDisabled", 403, "authentication"), ("InvalidAccount", 403, "authentication"),
        ("AccountNotExists", 403, "authentication"), ("ServiceLevelDeny", 403, "busy"),
        ("InternalError", 500, "busy"),
        // The code decides, whatever the status.
        ("InvalidSignature", 400, "authentication"), ("SignatureExpired", 400, "clock"),
        ("InvalidHost", 403, "refused"),
        ("InvalidAccount", 200, "authentication"), ("InternalError", 200, "busy"),
        // Unknown codes: the status decides.
        ("Whatever", 400, "busy"), ("Whatever", 403, "authentication"), ("Whatever", 429, "busy"),
        ("Whatever", 500, "busy"), ("Whatever", 200, "busy"), ("", 404, "busy"),
    ])
    func `the code of an error says what to do`(code: String, status: Int, expected: String) {
        #expect(action(#"{"code":"\#(code)"}"#, status: status) == expected)
    }

    @Test(arguments: [
        (301, "busy"), (400, "busy"), (401, "authentication"), (403, "authentication"), (500, "busy"), (0, "busy"),
    ])
    func `without a code the status says what to do`(status: Int, expected: String) {
        let answer = #"{"host":"www.example.com","ips":["192.0.2.1"],"ttl":60}"#
        for body in ["", "<html>", "{}", #"{"code":7}"#, "[]", answer] {
            #expect(action(body, status: status) == expected)
        }
    }

    @Test(
        arguments: [
            ("E", true), ("a-b.c_9", true), (String(repeating: "x", count: 31), true), (#"<script>\n"#, false),
            ("é", false), ("", false), ("two words", false), (#"\u001b[31mred"#, false),
            (String(repeating: "x", count: 32), false), (String(repeating: "x", count: 5_000), false),
        ])
    func `only a plain code stands in the text beside the status`(code: String, isShown: Bool) {
        #expect(
            outcome(#"{"code":"\#(code)"}"#, status: 500)
                == .failure(.unusable(isShown ? "\(code) (HTTP 500)" : "HTTP 500")))
    }
}
