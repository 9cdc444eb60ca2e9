import DNSWire
import HTTPDNS
import Testing

/// The scheduling calls of Aliyun and Tencent.
struct ScheduleTests {
    private static let secret = Secret("0123456789abcdef0123456789abcdef")

    private static func aliyun(_ region: String = "global", secret: Secret? = secret) -> AliyunScheduleFormat {
        AliyunScheduleFormat(account: "139450", region: region, secret: secret, crypto: CountingIVs())
    }

    private typealias Outcome = Result<AddressSchedule?, UpstreamFailure>

    private static func outcome(
        _ body: String, of format: any ScheduleFormat = aliyun(), status: Int = 200, date: Int64? = nil
    ) -> Outcome {
        let response = HTTPResponse(status: status, date: date, body: Array(body.utf8))
        return Outcome { () throws(UpstreamFailure) in try format.schedule(in: response) }
    }

    private static func places(_ texts: [String], ports: [UInt16]? = nil) -> [AddressAndPort] {
        texts.enumerated().compactMap { index, text in
            IPAddress(text).map { AddressAndPort($0, port: ports?[index] ?? 0) }
        }
    }

    // MARK: Aliyun

    /// `printf 000102030405-0123456789abcdef0123456789abcdef-1700000000 | md5sum`.
    @Test func `the signed request has a nonce, and a time a minute ahead`() throws {
        #expect(
            try Self.aliyun().request(at: 1_699_999_940).target
                == "/139450/ss?region=global&n=000102030405&t=1700000000&s=042f0c81bfc0afc60b76b5297385cb27")
    }

    @Test func `without a secret the request is not signed`() throws {
        let request = try Self.aliyun("cn", secret: nil).request(at: 1_700_000_000)
        #expect(request == HTTPRequest(target: "/139450/ss?region=cn"))
    }

    @Test func `without MD5 nothing is sent unsigned`() {
        let format = AliyunScheduleFormat(account: "1", region: "cn", secret: Self.secret, crypto: NoCrypto())
        #expect(throws: UpstreamFailure.self) { try format.request(at: 1_700_000_000) }
    }

    @Test func `both families are returned, IPv4 first`() {
        #expect(
            Self.outcome(#"{"service_ipv6":["2001:db8::10"],"service_ip":["192.0.2.10","192.0.2.11"]}"#)
                == .success(AddressSchedule(Self.places(["192.0.2.10", "192.0.2.11", "2001:db8::10"]))))
    }

    @Test func `ports belong to the addresses at their places, and an impossible one takes its address away`() {
        #expect(
            Self.outcome(
                #"{"service_ip":["192.0.2.1","192.0.2.2","192.0.2.3","192.0.2.4"],"service_ip_port":[65535,0,null,1]}"#)
                == .success(
                    AddressSchedule(
                        Self.places(["192.0.2.1", "192.0.2.3", "192.0.2.4"], ports: [65_535, 0, 1]))))
        #expect(
            Self.outcome(#"{"service_ip":["192.0.2.1","192.0.2.2"],"service_ip_port":[65536,-1]}"#)
                == .failure(.unusable("the reply names no address")))
    }

    @Test(arguments: [
        #"{"service_ip":[],"service_status":"disable"}"#, #"{"service_status":"disable","service_ip":["192.0.2.1"]}"#,
    ])
    func `a disabled service is distinguished, whatever addresses stand beside it`(body: String) {
        #expect(Self.outcome(body) == .success(nil))
    }

    @Test(arguments: [
        "{}", #"{"service_ip":[]}"#, #"{"service_ip":["not an address","::1"]}"#, #"{"service_ip":null}"#, "<html>", "",
        #"{"service_ip":"192.0.2.1"}"#, #"{"service_ip":["192.0.2.1"],"service_ip_port":8443}"#,
    ])
    func `a reply without an address is a failure`(body: String) {
        guard case .failure(.unusable) = Self.outcome(body) else {
            Issue.record("\(Self.outcome(body))")
            return
        }
    }

    @Test func `an error is the one that questions get`() {
        #expect(
            Self.outcome(#"{"code":"InvalidSignature"}"#, status: 403)
                == .failure(.authentication("InvalidSignature (HTTP 403)")))
        #expect(
            Self.outcome(#"{"code":"SignatureExpired"}"#, status: 403, date: 1_700_000_000)
                == .failure(.clockSkew("SignatureExpired (HTTP 403)", serverTime: 1_700_000_000)))
    }

    @Test func `of a list without end a bounded part is read`() {
        let list = (0..<1_000).map { "\"192.0.\($0 / 250).\($0 % 250)\"" }.joined(separator: ",")
        guard case .success(let schedule?) = Self.outcome("{\"service_ip\":[\(list)]}") else {
            Issue.record("no addresses")
            return
        }
        #expect(schedule.places.count == 64)
    }

    // MARK: Tencent

    private static let aes = TencentScheduleFormat(.encrypted(.aes(Secret("0123456789abcdef")), id: "1001"))
    private static let token = TencentScheduleFormat(.token(Secret("123456789"), id: ""))

    @Test func `tencent's requests show the account as questions do`() throws {
        let des = TencentScheduleFormat(.encrypted(.des(Secret("k3yD3s8x")), id: "1001"))
        #expect(try des.request(at: 0).target == "/conf?id=1001&alg=des")
        #expect(try Self.aes.request(at: 0).target == "/conf?id=1001&alg=aes")
        #expect(try Self.token.request(at: 0).target == "/conf?token=123456789")
    }

    @Test func `the encrypted reply of the vector is read`() {
        let body =
            "101112131415161718191a1b1c1d1e1f31de9f155037e27469c3be64270b98b6ad7d4ad9b481d67029a94d99973d6372"
            + "14b256b339bde818597d3f6390a8a6a43ba786a216fc4166c7270ca5ec28a142"
        #expect(
            Self.outcome(body, of: Self.aes)
                == .success(
                    AddressSchedule(Self.places(["119.29.29.98", "119.28.28.98"]), lifetime: .seconds(3_600))))
        #expect(Self.outcome("log:0|domain:0|ip:192.0.2.1|ttl:60", of: Self.aes) != Self.outcome(body, of: Self.aes))
    }

    @Test(
        arguments: [
            ("ip:192.0.2.1;2001:db8::1;x|ttl:1440", 1_440), ("log:0|ip:2001:db8::1;192.0.2.1|ttl:1441\n", 60),
            ("ip:192.0.2.1;2001:db8::1|ttl:1", 1), ("ip:192.0.2.1;2001:db8::1|ttl:5|ttl:7", 5),
            ("ip:192.0.2.1;2001:db8::1|ttl:0", 60), ("ip:192.0.2.1;2001:db8::1", 60),
        ] as [(String, Int64)])
    func `the lifetime is in minutes, an hour where it is none`(body: String, minutes: Int64) {
        #expect(
            Self.outcome(body, of: Self.token)
                == .success(
                    AddressSchedule(Self.places(["192.0.2.1", "2001:db8::1"]), lifetime: .seconds(60 * minutes))))
    }

    @Test(arguments: [
        "", "log:0|domain:0|ip:|ttl:60", "ttl:60", "|||", "ip", "<html>",
        // The first of two fields, and one without a name.
        "ip:|ip:192.0.2.1|ttl:60", ":ip:192.0.2.1",
    ])
    func `tencent's reply without an address is a failure`(body: String) {
        #expect(Self.outcome(body, of: Self.token) == .failure(.unusable("the reply names no address")))
    }

    @Test func `a refused token is a refused account`() {
        #expect(Self.outcome("", of: Self.token, status: 401) == .failure(.authentication("HTTP 401")))
    }
}
