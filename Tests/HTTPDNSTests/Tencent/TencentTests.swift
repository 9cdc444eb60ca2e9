import DNSWire
import HTTPDNS
import Testing

/// The requests to Tencent's service, and the outcomes of its responses.
struct TencentTests {
    static let desKey = Secret("k3yD3s8x")
    static let aesKey = Secret("0123456789abcdef")
    static let des = TencentFormat(.encrypted(.des(desKey), id: "1001"))
    static let aes = TencentFormat(.encrypted(.aes(aesKey), id: "1001"))
    static let token = TencentFormat(.token(Secret("123456789"), id: ""))
    private static let host = name("www.example.com")

    private func target(
        _ format: TencentFormat, _ host: String = "www.example.com", _ types: [RecordType] = [.a]
    ) throws(UpstreamFailure) -> String {
        try format.request(for: UpstreamQuestion(name: name(host), types: types), at: 0).target
    }

    // MARK: Requests

    @Test(
        arguments: [([.a], ""), ([.aaaa], "&type=aaaa"), ([.a, .aaaa], "&type=addrs"), ([.aaaa, .a], "&type=addrs")]
            as [([RecordType], String)])
    func `the name and the families are asked for, always with the name in the reply`(
        types: [RecordType], type: String
    ) throws {
        #expect(
            try target(Self.token, "www.example.com", types)
                == "/d?dn=www.example.com&token=123456789&ttl=1&clientip=1&query=1\(type)")
    }

    @Test func `an ID goes with the token if there is one`() throws {
        let format = TencentFormat(.token(Secret("1&2"), id: "1 1"))
        #expect(try target(format) == "/d?dn=www.example.com&token=1%262&id=1%201&ttl=1&clientip=1&query=1")
    }

    @Test func `the first 8 bytes of a key for DES are the key`() throws {
        let format = TencentFormat(.encrypted(.des(Secret("dnspodpass")), id: "1"))
        // The example printed by the vendor.
        #expect(try target(format, "www.dnspod.cn").hasPrefix("/d?dn=87ae992c1321f299da3c0210a9900ae7&"))
    }

    @Test(arguments: ["", "short", "sevenby"])
    func `with a key that is too short nothing is sent`(key: String) {
        for box in [PayloadBox.des(Secret(key)), .aes(Secret(key))] {
            #expect(throws: UpstreamFailure.self) { try target(TencentFormat(.encrypted(box, id: "1"))) }
        }
    }

    // MARK: Responses

    private func outcome(
        _ body: String, _ types: [RecordType] = [.a], _ format: TencentFormat = token, status: Int = 200
    ) -> ProviderOutcome {
        format.outcome(
            of: HTTPResponse(status: status, retryAfter: 7, body: Array(body.utf8)),
            to: UpstreamQuestion(name: Self.host, types: types))
    }

    private static let both: ProviderOutcome = .success([
        .a: addresses(["192.0.2.1", "192.0.2.2"], ttl: 60), .aaaa: addresses(["2001:db8::1"], ttl: 120),
    ])

    @Test(arguments: [
        "www.example.com.:192.0.2.1;192.0.2.2,60-2001:db8::1,120|203.0.113.7",
        "www.example.com.:192.0.2.1;192.0.2.2;,60-2001:db8:0:0:0:0:0:1;,120|",
        "WWW.Example.com.:192.0.2.1;192.0.2.2,60-2001:db8::1,120|203.0.113.7\n",
        "\r\nwww.example.com.:192.0.2.1;192.0.2.2;192.0.2.1,060-2001:db8::1,120|203.0.113.7\r\n\r\n",
        "www.example.com.:192.0.2.1;192.0.2.2,60-2001:db8::1,120|2001:db8::7",
    ])
    func `a line has the name, both families with their TTLs, and the client's address`(body: String) {
        #expect(outcome(body, [.a, .aaaa]) == Self.both)
    }

    static let replyInAES =
        "101112131415161718191a1b1c1d1e1f4550da0e4983c6086c18c0f90c619f5f48e522ed2e5b01bbe39534983856a880"
        + "aa48787f78ee95bb00a7fc6abae58c67ea74f32856b890664f1c9a0bd54584577cdc9cc166a97a34f5e9504ee5982618"

    @Test func `a reply in AES is read in either letter case`() {
        #expect(outcome(Self.replyInAES.uppercased() + "\n", [.a, .aaaa], Self.aes) == Self.both)
    }

    @Test(arguments: [
        "192.0.2.1;192.0.2.2,60|203.0.113.7", "192.0.2.1", ":192.0.2.1,60", "|203.0.113.7",
        "api.example.com.:192.0.2.1,60", "api.example.com.:0", "www.example.com:192.0.2.1,60",
        "www.example.com.:192.0.2.1,60\napi.example.com.:192.0.2.1,60", ".:192.0.2.1,60", "203.0.113.7|0", "error",
        "www.example.com.example.:192.0.2.1,60",
    ])
    func `a reply for another name, or for none, is refused whole`(body: String) {
        #expect(outcome(body).isUnusable)
    }

    @Test(arguments: [
        "", "\n", "0", "0|203.0.113.7", "0-0|203.0.113.7", "www.example.com.:0|203.0.113.7", "www.example.com.:0-0",
        "www.example.com.:0-0|203.0.113.7", "www.example.com|203.0.113.7", "www.example.com.|203.0.113.7",
        "www.example.com.:", "www.example.com.:-",
    ])
    func `no address is empty without a cause`(body: String) {
        #expect(
            outcome(body, [.a, .aaaa])
                == .success([.a: .indeterminateEmpty(ttl: nil), .aaaa: .indeterminateEmpty(ttl: nil)]))
    }

    @Test func `one family may be missing beside the other`() {
        let a = addresses(["192.0.2.1"], ttl: 60)
        let aaaa = addresses(["2001:db8::1"], ttl: 120)
        #expect(
            outcome("www.example.com.:192.0.2.1,60-0|203.0.113.7", [.a, .aaaa])
                == .success([.a: a, .aaaa: .indeterminateEmpty(ttl: nil)]))
        #expect(
            outcome("www.example.com.:0-2001:db8::1,120|203.0.113.7", [.a, .aaaa])
                == .success([.a: .indeterminateEmpty(ttl: nil), .aaaa: aaaa]))
        // One part where two were asked for: the other has no result.
        #expect(outcome("www.example.com.:192.0.2.1,60|203.0.113.7", [.a, .aaaa]) == .success([.a: a]))
        #expect(outcome("www.example.com.:2001:db8::1,120|203.0.113.7", [.a, .aaaa]) == .success([.aaaa: aaaa]))
        #expect(outcome("www.example.com.:2001:db8::1,120|203.0.113.7", [.aaaa]) == .success([.aaaa: aaaa]))
    }

    @Test(arguments: [
        ("192.0.2.1", 60), ("192.0.2.1,0", 60), ("192.0.2.1,1", 1), ("192.0.2.1,2147483648", 0x7fff_ffff),
        ("192.0.2.1,99999999999999999999", 0x7fff_ffff),
    ])
    func `a TTL that is missing or 0 becomes the least one, one past 31 bits the longest`(result: String, ttl: UInt32) {
        #expect(outcome("www.example.com.:\(result)|203.0.113.7") == .success([.a: addresses(["192.0.2.1"], ttl: ttl)]))
    }

    @Test func `text that is no address, and addresses of the other family, are dropped`() {
        #expect(
            outcome("www.example.com.:x;2001:db8::2;192.0.2.1;192.0.2.1 ;;1.2.3,60|203.0.113.7")
                == .success([.a: addresses(["192.0.2.1"], ttl: 60)]))
        #expect(outcome("www.example.com.:x;2001:db8::2,60") == .success([.a: .indeterminateEmpty(ttl: 60)]))
    }

    @Test(arguments: [
        "192.0.2.1,60,60", "192.0.2.1,", "192.0.2.1,-5", "192.0.2.1,x", "192.0.2.1,60-2001:db8::1,60-0",
        "192.0.2.1,60-2001:db8::1,60", "192.0.2.1,٦٠", "192.0.2.1,6 0",
    ])
    func `a line of another form is no answer`(result: String) {
        #expect(
            outcome("www.example.com.:\(result)|203.0.113.7")
                == .failure(.unusable("unreadable reply: not in the service's form")))
    }

    @Test(arguments: [
        "www.example.com.:192.0.2.1,60\nnone.example.com.:0|203.0.113.7",
        "www.example.com.:192.0.2.1,60\nwww.example.com.:192.0.2.2,60|203.0.113.7",
        "www.example.com.:0\nwww.example.com.:192.0.2.2,60|203.0.113.7", "0\n0",
    ])
    func `a reply of several lines is refused, for one name was asked`(body: String) {
        #expect(outcome(body) == .failure(.unusable("unreadable reply: not in the service's form")))
    }

    @Test(arguments: [
        // Another key, other bytes, an odd digit, no digits, and an unencrypted text.
        "87ae992c1321f299da3c0210a9900ae7", "00", "5d3bf9d247bddbd05f0666f33cd0d5c4e2981fb205c2fcc29cadacc19fd38e8",
        "5d3bf9d247bddbd05f0666f33cd0d5c4e2981fb205c2fcc29cadacc19fd38e8x", "www.example.com.:192.0.2.1,60",
    ])
    func `what cannot be decrypted is unusable and no matter of the account`(body: String) {
        for format in [Self.des, Self.aes] {
            #expect(
                outcome(body, [.a], format)
                    == .failure(
                        .unusable("the reply cannot be decrypted: another key, or it was changed on the way")))
        }
    }

    @Test func `an error status is no answer, whatever its body`() {
        let body = "www.example.com.:192.0.2.1,60|203.0.113.7"
        #expect(outcome(body, status: 401) == .failure(.authentication("HTTP 401")))
        #expect(outcome(body, status: 500) == .failure(.busy("HTTP 500", retryAfter: .seconds(7))))
    }

    @Test func `a reply cut before its end is no answer, for half an address may be one`() {
        let body = "www.example.com.:192.0.2.123;192.0.2.2,60-2001:db8::12,120|203.0.113.7"
        for length in 0..<body.utf8.count - "|203.0.113.7".utf8.count {
            if case .success(let results) = outcome(String(body.prefix(length)), [.a, .aaaa]) {
                #expect(results.allSatisfy { if case .answer = $0.result { false } else { true } }, "\(length)")
            }
        }
        for result in ["192.0.2.1,60", "192.0.2.1,60-0", "0-2001:db8::1,120"] {
            #expect(
                outcome("www.example.com.:\(result)", [.a, .aaaa]) == .failure(.unusable("the reply is cut short")))
        }
    }
}
