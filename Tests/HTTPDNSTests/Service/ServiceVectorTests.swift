import DNSWire
import HTTPDNS
import Testing

/// The vendors' requests, byte for byte, and the replies of our service to them.
struct ServiceVectorTests {
    private static let v2 = "/v2/d?id=139450&m=0&dn=www.example.com&q=4%2C6&v=1.0&exp=1700000000&s="
    private static let v2Signature = "fb1024c870ab1d04d2a12bbd34ea593dc23d86191be92dedb1aef7e0262945ec"
    private static let twoClients =
        "/139452/sign_resolve?host=www.example.com&t=1700000000&s=46667e265e1d713ff6ce351585a707b8"
        + "&ip=198.51.100.9,198.51.100.10"
    private static let answer =
        #"{"cip":"203.0.113.7","answers":[{"dn":"www.example.com","v4":{"ips":["192.0.2.1","192.0.2.2"],"ttl":60},"#
        + #""v6":{"ips":[],"ttl":300,"no_ip_code":"RRNotExist"}}]}"#
    private static let aesLine = "www.example.com.:192.0.2.1;192.0.2.2,60-2001:db8::1,120|203.0.113.7"

    private static let plainV2 = v2 + v2Signature
    private static let batch =
        #"{"dns":[{"host":"www.example.com","client_ip":"203.0.113.7","ips":["192.0.2.1","192.0.2.2"],"type":1,"#
        + #""ttl":60,"origin_ttl":60},"#
        + #"{"host":"www.example.com","client_ip":"203.0.113.7","ips":[],"type":28,"ttl":300},"#
        + #"{"host":"none.example.com","client_ip":"203.0.113.7","ips":[],"type":1,"ttl":300},"#
        + #"{"host":"none.example.com","client_ip":"203.0.113.7","ips":[],"type":28,"ttl":300}]}"#
    private static let sections =
        #"{"Status":0,"TC":false,"RD":true,"RA":true,"AD":false,"CD":false,"#
        + #""Question":[{"name":"www.example.com.","type":1}],"#
        + #""Answer":[{"name":"www.example.com.","type":1,"TTL":60,"data":"192.0.2.1"},"#
        + #"{"name":"www.example.com.","type":1,"TTL":60,"data":"192.0.2.2"}]}"#

    private static let both = TestService(records: [
        "www.example.com": [.a: (["192.0.2.1", "192.0.2.2"], 60), .aaaa: (["2001:db8::1"], 120)]
    ])

    @Test func `Aliyun's signed request gets both families with one TTL`() throws {
        let target = "/139450/sign_d?host=www.example.com&query=4,6&t=1700000000&s=46667e265e1d713ff6ce351585a707b8"
        #expect(
            try Self.both.reply(to: target).text
                == #"{"host":"www.example.com","ips":["192.0.2.1","192.0.2.2"],"ipsv6":["2001:db8::1"],"ttl":60,"#
                + #""origin_ttl":60,"client_ip":"203.0.113.7"}"#)
    }

    @Test(
        arguments: [
            // Of Aliyun's batch an element for each name and family.
            ("/1/resolve?host=www.example.com,none.example.com&query=4%2C6", batch),
            (plainV2, #"{"code":"success","mode":0,"data":\#(answer)}"#),
            // Of JSON's short form what the records hold.
            ("/resolve?type=1&name=www.example.com&short=1", #"["192.0.2.1","192.0.2.2"]"#),
            ("/resolve?type=1&name=none.example.com&short=true", "[]"),
            ("/resolve?name=www.example.com&type=A", sections),
            // With Tencent's DES the encrypted line, otherwise a line for each name, of what was asked for.
            (
                "/d?dn=5d3bf9d247bddbd0e75393177aae4175&id=1001&alg=des&ttl=1&clientip=1",
                "fb7d7eac1c4e53e7b2da01b215b9f0a26482b919aca5ae2c76a1f68445b7b4ecd645651ed636cb50"
            ),
            (
                "/d?dn=www.example.com,none.example.com&token=123456789&query=1&ttl=1&clientip=1",
                "www.example.com.:192.0.2.1;192.0.2.2,60|203.0.113.7\nnone.example.com.:0|203.0.113.7"
            ),
            ("/d?dn=www.example.com&ttl=1", "192.0.2.1;192.0.2.2,60"), ("/d?dn=none.example.com&ttl=1", ""),
            ("/d?dn=www.example.com&type=aaaa&query=1&clientip=1", "www.example.com.:0|203.0.113.7"),
            ("/d?dn=none.example.com&type=ADDRS&query=1&clientip=1", "none.example.com.:0-0|203.0.113.7"),
            ("/d?dn=www.example.com&type=addrs&ttl=1", "192.0.2.1;192.0.2.2,60-0"),
        ] as [(String, String)])
    func `the reply to a vendor's request is in its form, byte for byte`(target: String, text: String) throws {
        #expect(try TestService().reply(to: target).text == text)
    }

    @Test func `Tencent's parameters may come in the body`() throws {
        let reply = try TestService().reply(to: "/d", isPost: true, body: "dn=www.example.com&ttl=1")
        #expect(reply.text == "192.0.2.1;192.0.2.2,60")
    }

    @Test func `a lack of v is signed too`() throws {
        let target =
            "/v2/d?id=139450&m=0&dn=www.example.com&q=4&exp=1700000000&s=0366cea106f2c07f3a83aedfbf10c98a9e080cd8f03cdac9ddc3fbde6cb09fad"
        #expect(try TestService().call(target).isAuthenticated)
    }

    @Test func `Aliyun's batch for several clients of one name gets an element for each`() throws {
        let service = TestService()
        let target = Self.twoClients
        let call = try service.call(target)
        #expect(call.questions.count == 2)
        #expect([0, 1].map { call.client(of: $0)?.description } == ["198.51.100.9", "198.51.100.10"])
        #expect(
            try service.reply(to: target).text
                == #"{"dns":[{"host":"www.example.com","client_ip":"198.51.100.9","ips":["192.0.2.1","192.0.2.2"],"type":1,"#
                + #""ttl":60,"origin_ttl":60},"#
                + #"{"host":"www.example.com","client_ip":"198.51.100.10","ips":["192.0.2.1","192.0.2.2"],"type":1,"#
                + #""ttl":60,"origin_ttl":60}]}"#)
        let five = target + String(repeating: ",198.51.100.11", count: 3)
        #expect(try service.call(five).questions.count == 5)
        let six = target + String(repeating: ",198.51.100.11", count: 4)
        #expect(try service.reply(to: six).text == #"{"code":"TooManyHosts"}"#)
        let two =
            "/139452/sign_resolve?host=www.example.com%2Capi.example.com&t=1700000000"
            + "&s=78c64ddb70f6885e089f8ce6d7ff3bf2&ip=198.51.100.9,198.51.100.10"
        #expect(try service.reply(to: two).text == #"{"code":"TooManyHosts"}"#)
    }

    @Test func `for one name the first of several clients counts`() throws {
        let target =
            "/139452/sign_d?host=www.example.com&t=1700000000&s=46667e265e1d713ff6ce351585a707b8"
            + "&ip=198.51.100.9,198.51.100.10"
        #expect(try TestService().call(target).questions.count == 1)
        #expect(
            try TestService().reply(to: target).text
                == #"{"host":"www.example.com","ips":["192.0.2.1","192.0.2.2"],"ttl":60,"origin_ttl":60,"#
                + #""client_ip":"198.51.100.9"}"#)
    }

    @Test func `several names are asked for one client`() throws {
        let call = try TestService().call(
            "/139452/sign_resolve?host=www.example.com%2Capi.example.com&t=1700000000"
                + "&s=78c64ddb70f6885e089f8ce6d7ff3bf2&ip=198.51.100.9")
        #expect(call.questions.count == 2)
        #expect([0, 1].map { call.client(of: $0)?.description } == ["198.51.100.9", "198.51.100.9"])
    }

    @Test func `several clients that an account may not name are its own`() throws {
        let target = "/1/resolve?host=www.example.com&ip=198.51.100.9,198.51.100.10"
        #expect(try TestService().call(target).questions.count == 1)
        #expect(try TestService().reply(to: target).text.contains(#""client_ip":"203.0.113.7""#))
    }

    @Test func `a signed batch signs the list as it was sent`() throws {
        let target =
            "/139450/sign_resolve?host=www.example.com%2Capi.example.com&t=1700000000&s=78c64ddb70f6885e089f8ce6d7ff3bf2"
        #expect(
            try TestService().call(target).questions.map(\.name.description) == ["www.example.com", "api.example.com"])
    }

    @Test func `the signed call for addresses gets those of the service`() throws {
        var service = TestService()
        service.addresses = [.v4(0xc000_020a), .v4(0xc000_020b)] + [IPAddress("2001:db8::10")].compactMap { $0 }
        let target =
            "/139450/ss?region=global&n=0a1b2c3d4e5f&t=1700000000&s=1ba4f5cb5d6c3e0d48c1ca0a0940b3c3&platform=android"
        #expect(
            try service.reply(to: target, at: 1_699_999_940).text
                == #"{"service_ip":["192.0.2.10","192.0.2.11"],"service_ipv6":["2001:db8::10"]}"#)
    }

    @Test func `the list of addresses has the port by which it was asked for, where that is no default`() throws {
        var service = TestService()
        service.addresses = [.v4(0xc000_020a), .v4(0xc000_020b)]
        let four = #"{"service_ip":["192.0.2.10","192.0.2.11"]"#
        let six = #","service_ipv6":[]}"#
        #expect(try service.reply(to: "/1/ss", port: 8_443).text == four + #","service_ip_port":[8443,8443]"# + six)
        #expect(try service.reply(to: "/1/ss", port: 443).text == four + six)
        service.addresses = [try #require(IPAddress("2001:db8::10"))]
        #expect(
            try service.reply(to: "/1/ss", port: 8_443).text
                == #"{"service_ip":[],"service_ipv6":["2001:db8::10"],"service_ipv6_port":[8443]}"#)
    }

    @Test func `the call for addresses is answered without a signature too, as most SDKs of Aliyun's make it`() throws {
        var service = TestService()
        service.addresses = [.v4(0xc000_020a)]
        let reply = try service.reply(to: "/139450/ss?region=global")
        #expect(reply.status == 200)
        #expect(reply.text == #"{"service_ip":["192.0.2.10"],"service_ipv6":[]}"#)
        let wrong = "&n=0a1b2c3d4e5f&t=1700000000&s=" + String(repeating: "0", count: 32)
        #expect(try service.reply(to: "/139450/ss?region=global" + wrong, at: 1_699_999_940).status == 403)
    }

    @Test func `Tencent's call for addresses gets those of the service, for an hour`() throws {
        var service = TestService()
        service.addresses = [.v4(0xc000_020a)] + [IPAddress("2001:db8::10")].compactMap { $0 }
        #expect(
            try service.reply(to: "/conf?token=123456789").text
                == "log:0|domain:0|ip:192.0.2.10;2001:db8::10|ttl:60")
    }

    @Test(arguments: [
        ("/1/d?host=www.example.com", true), ("/1/resolve?host=www.example.com", true), ("/1/ss?region=cn", true),
        (twoClients, true), (v2 + v2Signature, true), ("/resolve?name=www.example.com", true),
        ("/resolve?name=www.example.com&short=1", true), ("/d?dn=www.example.com", false), ("/conf", false),
        ("/d?dn=none.example.com", false),
    ])
    func `a reply has status 200, and is JSON but for Tencent's`(target: String, isJSON: Bool) throws {
        var service = TestService()
        service.addresses = [.v4(0xc000_020a)]
        let reply = try service.reply(to: target)
        #expect(reply.status == 200 && reply.isJSON == isJSON)
    }

    @Test(arguments: [
        ("/resolve?name=www.example.com&do=1&cd=true", true), ("/resolve?name=www.example.com&do=0&cd=yes", false),
        ("/resolve?name=www.example.com", false), ("/1/d?host=www.example.com", false),
        (v2 + v2Signature, false), ("/d?dn=www.example.com", false),
    ])
    func `signatures, and no validation, are asked for only where a parameter says so`(
        target: String, isOn: Bool
    ) throws {
        let call = try TestService().call(target)
        #expect(call.dnssecOK == isOn && call.checkingDisabled == isOn)
    }

    @Test(
        arguments: [
            (
                "1", "139450",
                "000102030405060708090a0b0c0d0e0f39cc1ffafb6111e2e9734349b7e84ed4f365fd95f821cd41015763be2cb86d7d2134125f05d0f7ed3d315efa40136b54",
                "ecf668b07c6709c51638b97a7c9698da0df6156efd95de6f390255326ba45f44"
            ),
            (
                "2", "139450",
                "000102030405060708090a0b50f753aa8cadad17e84f07fa68ec2c9d617aa3291bdccca1ad2ff874c33faa1e14f46aca04f2ef645da00ba3d05fa28c66e2",
                "a13cb5e983f1572ec181d8cecd96325312cb068f0c97aa5ae826470c63c5c359"
            ),
        ]) func `Aliyun's v2 gets its reply encrypted as the request was`(
            mode: String, id: String, encrypted: String, signature: String
        ) throws
    {
        let target = "/v2/d?id=\(id)&m=\(mode)&enc=\(encrypted)&v=1.0&exp=1700000000&s=\(signature)"
        let reply = try TestService().reply(to: target)
        #expect(reply.text.hasPrefix(#"{"code":"success","mode":\#(mode),"data":"AAECAwQFBgcICQoL"#))
    }

    @Test func `Tencent's AES gets both families, each with its TTL`() throws {
        let target =
            "/d?dn=000102030405060708090a0b0c0d0e0fc76e0a8818928ce7aa8b99f52a5d3fff&id=1002&alg=aes&ttl=1&clientip=1&query=1&type=addrs"
        let sealed = try #require(TextDecoding.hexadecimal(Self.both.reply(to: target).text))
        let line = CountingIVs().decrypt(
            Array(sealed.dropFirst(16)), .aes128CBC, key: Array("0123456789abcdef".utf8), iv: Array(sealed.prefix(16)))
        #expect(line.map { String(decoding: $0, as: UTF8.self) } == Self.aesLine)
    }

    @Test func `each line of Tencent's batch has its name, which Android's SDK wants and does not ask for`() throws {
        let service = TestService(records: [
            "www.example.com": [.a: (["192.0.2.1", "192.0.2.2"], 60)], "api.example.com": [.a: (["192.0.2.3"], 30)],
        ])
        let text = try service.reply(to: "/d?dn=www.example.com,api.example.com&ttl=1&clientip=1").text
        let lines = text.split(separator: "\n").map { line -> [Substring] in
            line.wholeMatch(of: #/(.+)\.:(.+),([0-9]+)\|(.+)/#).map { [$0.1, $0.2, $0.3, $0.4] } ?? []
        }
        #expect(
            lines == [
                ["www.example.com", "192.0.2.1;192.0.2.2", "60", "203.0.113.7"],
                ["api.example.com", "192.0.2.3", "30", "203.0.113.7"],
            ])
    }

    @Test func `the expiry that iOS sends with the names counts`() throws {
        let target =
            "/d?id=1002&alg=aes&dn=000102030405060708090a0b0c0d0e0fee503a514135066b14062a07562dbf1e4555eb7e9e68c53659d4889d784ccab9"
        #expect(try TestService().reply(to: target, at: 1_700_000_000).status == 200)
        #expect(try TestService().reply(to: target, at: 1_700_000_001).status == 401)
    }

}
