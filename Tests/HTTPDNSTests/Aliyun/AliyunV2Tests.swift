import DNSWire
import HTTPDNS
import Testing

/// The requests to Aliyun's v2 interface, and the outcomes of its responses.
struct AliyunV2Tests {
    static let secret = Secret("0123456789abcdef0123456789abcdef")
    static let key = Secret("00112233445566778899aabbccddeeff")
    private static let host = name("www.example.com")

    static func format(
        _ box: PayloadBox? = nil, secret: Secret? = secret, crypto: any Crypto = CountingIVs()
    ) -> AliyunV2Format {
        AliyunV2Format(account: "139450", secret: secret, box: box, crypto: crypto)
    }

    // MARK: Requests

    @Test func `parameters are signed in the order of their names, those without a value not at all`() throws {
        let parameters = [
            ("id", "139450"), ("m", "0"), ("dn", "www.example.com,api.example.com"), ("q", "4"), ("cip", "203.0.113.7"),
            ("sdns-region", "sh"), ("sdns-Ver", "2"), ("tags", ""), ("v", "1.0"), ("exp", "1700000000"),
        ].map { AliyunV2Signature.Parameter($0.0, $0.1) }
        #expect(
            AliyunV2Signature.text(of: parameters)
                == "cip=203.0.113.7&dn=www.example.com,api.example.com&exp=1700000000&id=139450&m=0&q=4&sdns-Ver=2"
                + "&sdns-region=sh&v=1.0")
        #expect(
            try AliyunV2Signature.hexadecimal(of: parameters, secret: Self.secret, crypto: CountingIVs())
                == "6aadf8af613eb6344404338c000f09f112b60e4833e4ddb9c94efe76b51f147d")
    }

    private func target(
        _ format: AliyunV2Format, _ host: String = "www.example.com", _ types: [RecordType] = [.a, .aaaa]
    ) throws(UpstreamFailure) -> String {
        try format.request(for: UpstreamQuestion(name: name(host), types: types), at: 1_699_999_400).target
    }

    @Test func `without a secret nothing is signed`() throws {
        #expect(
            try target(Self.format(secret: nil), "www.example.com", [.aaaa])
                == "/v2/d?id=139450&m=0&dn=www.example.com&q=6&v=1.0")
    }

    @Test(arguments: ["", "0", "xy", "00112233445566778899aabbccddee", "00112233445566778899aabbccddeeff00"])
    func `with a key that is none nothing is sent`(text: String) {
        for encryption in [PayloadBox.cbc(Secret(text)), .gcm(Secret(text))] {
            #expect(throws: UpstreamFailure.self) { try target(Self.format(encryption)) }
        }
    }

    // MARK: Responses

    private func outcome(
        _ body: String, _ encryption: PayloadBox? = .none, types: [RecordType] = [.a, .aaaa],
        status: Int = 200
    ) -> ProviderOutcome {
        Self.format(encryption).outcome(
            of: HTTPResponse(status: status, body: Array(body.utf8)),
            to: UpstreamQuestion(name: Self.host, types: types))
    }

    /// The outcome of the plain response with these families of the name.
    private func outcome(families: String, types: [RecordType] = [.a, .aaaa]) -> ProviderOutcome {
        outcome(
            #"{"code":"success","mode":0,"data":{"answers":[{"dn":"www.example.com",\#(families)}]}}"#, types: types)
    }

    private static let text =
        #"{"cip":"203.0.113.7","answers":[{"dn":"www.example.com","v4":{"ips":["192.0.2.1","192.0.2.2"],"ttl":60},"#
        + #""v6":{"ips":[],"ttl":300,"no_ip_code":"RRNotExist"}}]}"#
    private static let inCBC =
        "EBESExQVFhcYGRobHB0eH4LgiJJSgauor+AlXLz2hhGMIdGPzJpqofc9hg2n192haAup+I40SuqygPUDzXz7XjZaBvT4lAohBrUrVdjEYXFxPgpK"
        + "fW40zd1iZ5r88CzMjvYXH3C64jdL4158CVD0zFEtK+CJEfvb6ghwflN3JMs2OPyjUwy+d7QriZ/ZSWMKl/6rjIu9+tApsQMfka8svvqW1BREjvIy"
        + "mvI/y6APDDs="
    static let inGCM =
        "EBESExQVFhcYGRob82ZKalzpGZNP3dZa3XSRmzJcQqAljw2Whphb+u0cvHMamhOFe5Z0Fun1rURDLvcfBrmTbdMcclqOy4pGAVN+n3vKzuqrjYwI"
        + "cxShMX6osYSyM4/foI0PZ7uJsepe5djilojx4vr0q41UR0JKMgZy3rZM0miHXCa9JJUAvmPQ1X84bhJ9LrWzVAVRTBugLlAlEMR+mclXrZOeK4uU"
        + "xNeer+iaWgYbyUE/85tzZtEY"
    private static let expected: ProviderOutcome = .success([
        .a: addresses(["192.0.2.1", "192.0.2.2"], ttl: 60), .aaaa: .answer(.negative(name: host, ttl: 300)),
    ])

    @Test(arguments: [
        (PayloadBox?.none, #"{"code":"success","data":\#(text)}"#),
        (.none, #"{"data":\#(text),"mode":"0","code":"success"}"#),
        (.none, #"{"code":"success","data":"\#(text.replacing("\"", with: "\\\""))"}"#),
        (.gcm(key), #"{"code":"success","mode":"2","data":"\#(inGCM)"}"#),
        (.gcm(key), #"{"code":"success","data":"\#(inGCM)"}"#),
        // Base64 with line breaks, as some libraries write it.
        (.gcm(key), #"{"code":"success","data":"\#(inGCM.prefix(76))\r\n\#(inGCM.dropFirst(76))\n"}"#),
    ])
    func `a reply is read in each mode, and whichever way the mode is written`(encryption: PayloadBox?, body: String) {
        #expect(outcome(body, encryption) == Self.expected)
    }

    @Test(arguments: [
        // Not encrypted though the question was: anything on the path can write that.
        (Optional(PayloadBox.gcm(key)), #"{"code":"success","mode":0,"data":\#(text)}"#),
        (.gcm(key), #"{"code":"success","data":\#(text)}"#),
        (.gcm(key), #"{"code":"success","mode":2,"data":\#(text)}"#),
        (.gcm(key), #"{"code":"success","mode":2,"data":"\#(text.replacing("\"", with: "\\\""))"}"#),
        (.gcm(key), #"{"code":"success","mode":1,"data":"\#(inCBC)"}"#),
        (.gcm(key), #"{"code":"success","data":"\#(inCBC)"}"#),
        (.cbc(key), #"{"code":"success","data":"\#(inGCM)"}"#),
        (.cbc(key), #"{"code":"success","mode":0,"data":\#(text)}"#),
        (.none, #"{"code":"success","mode":2,"data":"\#(inGCM)"}"#),
        (.none, #"{"code":"success","mode":"x","data":\#(text)}"#),
        // The request sent back: a text encrypted with the right key that is not a response.
        (
            .gcm(key),
            #"{"code":"success","mode":2,"data":"AAECAwQFBgcICQoLUPdTqoytrRfoTwf6aOwsnWF6oykb3MyhrS/4dMM/qh4U9GrKBPLvZF2gC6PQX6KMZuI="}"#
        ),
        (.gcm(Secret("00112233445566778899aabbccddeefe")), #"{"code":"success","mode":2,"data":"\#(inGCM)"}"#),
        (.gcm(key), #"{"code":"success","mode":2,"data":"\#(inGCM.dropLast(4))"}"#),
        (.gcm(key), #"{"code":"success","mode":2,"data":"A\#(inGCM)"}"#),
        (.gcm(key), #"{"code":"success","mode":2,"data":"\#(inGCM)AAAA"}"#),
        (.gcm(key), #"{"code":"success","mode":2,"data":"=\#(inGCM)"}"#),
        (.gcm(key), #"{"code":"success","mode":2,"data":""}"#),
        (.gcm(key), #"{"code":"success","mode":2,"data":"AAAA"}"#),
        (.gcm(key), #"{"code":"success","mode":2,"data":"===="}"#),
        (.gcm(key), #"{"code":"success","mode":2}"#),
    ])
    func `what is not encrypted as it was asked for, or was changed, is unusable and no matter of the account`(
        encryption: PayloadBox?, body: String
    ) {
        #expect(outcome(body, encryption).isUnusable)
    }

    @Test func `each family has its own TTL and its own reason to be empty`() {
        #expect(
            outcome(
                families:
                    #""v4":{"ips":["192.0.2.1"],"ttl":7},"v6":{"ips":["2001:db8:0:0:0:0:0:1"],"ttl":9,"no_ip_code":"RRNotExist"}"#
            )
                == .success([.a: addresses(["192.0.2.1"], ttl: 7), .aaaa: addresses(["2001:db8::1"], ttl: 9)]))
        #expect(
            outcome(
                families:
                    #""v4":{"ips":[],"ttl":30,"no_ip_code":"DomainNotExist"},"v6":{"ips":null,"no_ip_code":"DomainNotExist"}"#
            )
                == .success([
                    .a: .answer(.negative(.nameError, name: Self.host, ttl: 30)),
                    .aaaa: .answer(.negative(.nameError, name: Self.host, ttl: 60)),
                ]))
    }

    @Test(arguments: [
        #"{"ips":[],"ttl":30}"#, #"{"ips":[],"ttl":30,"no_ip_code":""}"#, #"{"ttl":30,"no_ip_code":"Whatever"}"#,
        #"{"ips":[],"ttl":30,"no_ip_code":null}"#, #"{"ips":[],"ttl":30,"no_ip_code":7}"#,
        #"{"ips":["2001:db8::1"],"ttl":30}"#,
    ])
    func `empty for a reason that is not given or not known is unknown`(family: String) {
        #expect(outcome(families: #""v4":\#(family)"#, types: [.a]) == .success([.a: .indeterminateEmpty(ttl: 30)]))
    }

    @Test func `a family that is left out has no result`() {
        #expect(
            outcome(families: #""v4":{"ips":["192.0.2.1"],"ttl":60},"v6":null"#)
                == .success([.a: addresses(["192.0.2.1"], ttl: 60)]))
        #expect(outcome(families: #""v6":{"ips":["2001:db8::1"]}"#, types: [.a]) == nothingAsked)
    }

    private var nothingAsked: ProviderOutcome {
        .failure(.unusable("the reply contains nothing of what was asked"))
    }

    @Test(arguments: [#"{"answers":[]}"#, "{}", #"{"answers":null}"#])
    func `a reply without the name is no answer`(data: String) {
        #expect(outcome(#"{"code":"success","data":\#(data)}"#) == nothingAsked)
    }

    @Test(arguments: ["api.example.com", "", "www..example.com", "www.example.com.example"])
    func `a reply for another name is refused whole`(other: String) {
        let family = #""v4":{"ips":["192.0.2.66"],"ttl":60}"#
        let answers = #"{"dn":"www.example.com",\#(family)},{"dn":"\#(other)",\#(family)}"#
        #expect(
            outcome(#"{"code":"success","data":{"answers":[\#(answers)]}}"#)
                == .failure(.unusable("the reply is for another name")))
    }

    /// The action for the failure that an error causes.
    private func action(_ body: String, status: Int) -> String {
        switch outcome(body, .gcm(Self.key), status: status) {
        case .failure(.authentication): "authentication"
        case .failure(.refused): "refused"
        case .failure(.unusable): "unusable"
        case .failure(.clockSkew): "clock"
        default: "other"
        }
    }

    @Test(arguments: [
        ("InvalidSignature", 403, "authentication"), ("InvalidSignature", 200, "authentication"),
        ("SignatureExpired", 403, "clock"), ("InvalidHost", 400, "refused"), ("TooManyHosts", 400, "refused"),
        ("ServiceLevelDeny", 403, "unusable"), ("Whatever", 200, "unusable"), ("success", 500, "unusable"),
        ("Whatever", 400, "unusable"), ("Whatever", 401, "authentication"),
    ])
    func `an error says by its code what to do, also with status 200`(code: String, status: Int, expected: String) {
        #expect(action(#"{"code":"\#(code)"}"#, status: status) == expected)
        #expect(action(#"{"code":"\#(code)","data":"\#(Self.inGCM)","mode":2}"#, status: status) == expected)
    }

    @Test(arguments: [
        "", "<html>", "[]", "{}", #"{"mode":2}"#, #"{"code":7,"data":{}}"#, #"{"code":"success","data":[]}"#,
    ])
    func `a body of another form is no answer`(body: String) {
        #expect(action(body, status: 200) == "unusable")
    }

    @Test func `a reply with neither data nor a code says so`() {
        #expect(outcome("{}") == .failure(.unusable("the reply is neither an answer nor an error")))
        #expect(outcome("{}", status: 502) == .failure(.unusable("HTTP 502")))
        #expect(outcome(#"{"code":"success"}"#) == .failure(.unusable("the reply holds no data")))
    }
}
