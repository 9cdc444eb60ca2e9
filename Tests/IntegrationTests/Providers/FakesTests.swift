import TestServers
import TestSupport
import Testing

extension Integration {
    /// The fakes themselves, tested with unrelated programs.
    @Suite
    struct FakesTests {
        private let zone = FakeZone([
            "www.example.com": .init(a: ["192.0.2.1", "192.0.2.2"], aaaa: ["2001:db8::1"], ttl: 77),
            "four.example.com": .init(a: ["192.0.2.4"], ttl: 5),
            "alias.example.com": .init(alias: "www.example.com", ttl: 30),
        ])

        private func curl(_ arguments: String...) throws -> ChildProcess.Outcome {
            try ChildProcess.run(["curl", "-sS", "--max-time", "60"] + arguments)
        }

        @Test func `the Aliyun form gives both families in one call`() throws {
            let vendor = try FakeHTTPDNS(zone)
            let outcome = try curl("\(vendor.url)/139450/d?host=www.example.com&query=4,6")
            #expect(
                outcome.output
                    == #"{"host":"www.example.com","ips":["192.0.2.1","192.0.2.2"],"ipsv6":["2001:db8::1"],"#
                    + #""ttl":77,"origin_ttl":77,"client_ip":"203.0.113.7"}"#)
            #expect(vendor.calls == [.init(.aliyun, "www.example.com", "4,6")])
        }

        @Test func `the Aliyun form answers a name it does not know with status 200 and no address`() throws {
            let vendor = try FakeHTTPDNS(zone)
            let outcome = try curl("-w", "%{http_code}", "\(vendor.url)/139450/d?host=none.example.com")
            #expect(outcome.output.contains(#""ips":[]"#))
            #expect(outcome.output.hasSuffix("}200"))
        }

        @Test func `a right signature is taken, a wrong and an old one are refused`() throws {
            let secret = "0123456789abcdef0123456789abcdef"
            let vendor = try FakeHTTPDNS(zone, secret: secret)
            let script = """
                sign() { printf '%s-%s-%s' www.example.com \(secret) "$1" | openssl md5 -r | cut -c1-32; }
                ask() { curl -sS "\(vendor.url)/139450/sign_d?host=www.example.com&t=$1&s=$2"; echo; }
                soon=$(( $(date +%s) + 60 ))
                ask $soon $(sign $soon)
                ask $soon $(sign 1700000000)
                ask 1700000000 $(sign 1700000000)
                """
            let lines = try ChildProcess.succeed(["sh", "-c", script]).split(separator: "\n")
            try #require(lines.count == 3)
            #expect(lines[0].contains("192.0.2.1"))
            #expect(lines[1] == #"{"code":"InvalidSignature"}"#)
            #expect(lines[2] == #"{"code":"SignatureExpired"}"#)
        }

        @Test func `the v2 form takes the requests of the vectors and answers in the same mode`() throws {
            for (mode, encrypted) in [
                (
                    FakeAliyunV2Account.Mode.cbc,
                    "000102030405060708090a0b0c0d0e0f39cc1ffafb6111e2e9734349b7e84ed4f365fd95f821cd41015763be2cb86d7d"
                        + "2134125f05d0f7ed3d315efa40136b54"
                ),
                (
                    .gcm,
                    "000102030405060708090a0b50f753aa8cadad17e84f07fa68ec2c9d617aa3291bdccca1ad2ff874c33faa1e14f46aca"
                        + "04f2ef645da00ba3d05fa28c66e2"
                ),
            ] {
                let vendor = try FakeHTTPDNS(zone, account: .aliyunV2(FakeAliyunV2Account(secret: nil, mode: mode)))
                let outcome = try curl("\(vendor.url)/v2/d?id=139450&m=\(mode.rawValue)&enc=\(encrypted)&v=1.0")
                #expect(outcome.output.hasPrefix("{\"code\":\"success\",\"mode\":\(mode.rawValue),\"data\":\""))
                #expect(vendor.calls == [.init(.aliyunV2, "www.example.com", "4,6")])
                let other = try curl(
                    "\(vendor.url)/v2/d?id=139450&m=\(mode.rawValue)&enc=\(encrypted.dropLast(2))00&v=1.0")
                #expect(!other.output.contains("success"))
            }
        }

        @Test func `the v2 form takes the signature of the vectors and finds it expired, and no other`() throws {
            let vendor = try FakeHTTPDNS(zone, account: .aliyunV2(FakeAliyunV2Account()))
            let base = "\(vendor.url)/v2/d?id=139450&m=0&dn=www.example.com&q=4,6&v=1.0"
            #expect(try curl("\(base)&exp=1700000000&s=00").output == #"{"code":"SignatureExpired"}"#)
            #expect(try curl(base).output == #"{"code":"UnsignedInterfaceDisabled"}"#)
            #expect(try curl("\(base)&exp=9999999999&s=00").output == #"{"code":"InvalidDuration"}"#)
            #expect(
                try OpenSSLCommand.hmacSHA256(
                    "dn=www.example.com&exp=1700000000&id=139450&m=0&q=4,6&v=1.0",
                    hexadecimalKey: "0123456789abcdef0123456789abcdef")
                    == "fb1024c870ab1d04d2a12bbd34ea593dc23d86191be92dedb1aef7e0262945ec")
        }

        @Test func `GCM put together from other modes gives the vectors`() throws {
            let key = (0..<16).map { UInt8($0 * 17) }
            let text = Array(#"{"dn":"www.example.com","q":"4,6"}"#.utf8)
            let sealed = try OpenSSLCommand.sealGCM(text, key: key, nonce: (0..<12).map { UInt8($0) })
            #expect(
                sealed.map { ($0 < 16 ? "0" : "") + String($0, radix: 16) }.joined()
                    == "50f753aa8cadad17e84f07fa68ec2c9d617aa3291bdccca1ad2ff874c33faa1e14f46aca04f2ef645da00ba3d05fa28c66e2"
            )
        }

        @Test func `the Tencent form answers the vectors`() throws {
            let zone = FakeZone([
                "www.example.com": .init(a: ["192.0.2.1", "192.0.2.2"], aaaa: ["2001:db8::1"], ttl: 60)
            ])
            let des = try FakeHTTPDNS(zone, account: .tencent(.des(id: "1001", key: "k3yD3s8x")))
            let name = "5d3bf9d247bddbd0e75393177aae4175"
            #expect(
                try curl("\(des.url)/d?dn=\(name)&id=1001&alg=des&ttl=1&clientip=1").output
                    == "fb7d7eac1c4e53e7b2da01b215b9f0a26482b919aca5ae2c76a1f68445b7b4ecd645651ed636cb50")
            des.zone = FakeZone()
            #expect(
                try curl("\(des.url)/d?dn=\(name)&id=1001&alg=des&ttl=1&clientip=1&query=1").output
                    == "5d3bf9d247bddbd05f0666f33cd0d5c4e2981fb205c2fcc29cadacc19fd38e83")
            #expect(try curl("\(des.url)/d?dn=\(name.dropLast(2))00&id=1001&alg=des").output == "")
            let token = try FakeHTTPDNS(zone, account: .tencent(.token("123456789")))
            #expect(
                try curl(
                    "\(token.url)/d?dn=www.example.com&token=123456789&query=1&ttl=1&clientip=1&type=addrs"
                ).output == "www.example.com.:192.0.2.1;192.0.2.2,60-2001:db8::1,60|203.0.113.7")
            #expect(try curl("-w", "%{http_code}", "\(token.url)/d?dn=www.example.com&token=1").output == "401")
        }

        @Test func `each JSON dialect is written its own way`() throws {
            func body(_ dialect: FakeJSONDialect, _ name: String = "alias.example.com") throws -> String {
                let vendor = try FakeHTTPDNS(
                    FakeZone([
                        "alias.example.com": .init(alias: "a.example", ttl: 30), "a.example": .init(a: ["192.0.2.1"]),
                    ]),
                    dialect: dialect)
                return try curl("-H", "Accept: application/dns-json", "\(vendor.jsonURL)?name=\(name)&type=A").output
            }
            let head = #"{"Status":0,"TC":false,"RD":true,"RA":true,"AD":false,"CD":false,"Question":"#
            let google =
                #"[{"name":"alias.example.com.","type":1}],"Answer":[{"name":"alias.example.com.","type":5,"#
                + #""TTL":30,"data":"a.example."},{"name":"a.example.","type":1,"TTL":60,"data":"192.0.2.1"}]"#
            #expect(try body(.google) == head + google + #","Comment":"Response from 192.0.2.53."}"#)
            #expect(try body(.dnspod) == head + google + #","edns_client_subnet":"203.0.113.0/24"}"#)
            #expect(
                try body(.cloudflare)
                    == head
                    + #"[{"name":"alias.example.com","type":1}],"Answer":[{"name":"alias.example.com","type":5,"#
                    + #""TTL":30,"data":"a.example."},{"name":"a.example","type":1,"TTL":60,"data":"192.0.2.1"}],"#
                    + #""Comment":["EDE(29): Synthesized","EDE(0): Other"]}"#)
            #expect(
                try body(.alidns(nil))
                    == head + #"{"name":"alias.example.com","type":1},"Answer":[{"name":"alias.example.com.","TTL":30,"#
                    + #""type":5,"data":"a.example."},{"name":"a.example.","TTL":60,"type":1,"data":"192.0.2.1"}]}"#)
            #expect(
                try body(.google, "none.example").hasSuffix(
                    #""Authority":[{"name":"none.example.","type":6,"TTL":60,"data":"ns.none.example. "#
                        + #"admin.none.example. 1 7200 3600 1209600 60"}],"Comment":"Response from 192.0.2.53."}"#))
        }

        @Test func `a key of AliDNS's account is checked with its timestamp and name`() throws {
            let account = FakeAliDNSAccount(id: "1", accessKeyID: "ak", secret: "of theirs")
            let vendor = try FakeHTTPDNS(zone, dialect: .alidns(account))
            let script = """
                sign() { printf '%s' "1of theirs$1$2ak" | openssl dgst -sha256 -r | cut -c1-64; }
                ask() { curl -sS "\(vendor.jsonURL)?name=www.example.com&uid=1&ak=ak&ts=$1&key=$2"; echo; }
                now=$(date +%s)
                ask $now $(sign $now www.example.com)
                ask $now $(sign $now four.example.com)
                ask 1700000000 $(sign 1700000000 www.example.com)
                """
            let lines = try ChildProcess.succeed(["sh", "-c", script]).split(separator: "\n")
            try #require(lines.count == 3)
            #expect(lines[0].contains("192.0.2.1"))
            #expect(lines[1] == #"{"code":"InvalidKey"}"#)
            #expect(lines[2] == #"{"code":"InvalidTimestamp"}"#)
        }

        @Test func `DoH answers dig's own questions over nginx, TLS and HTTP 2`() throws {
            let vendor = try FakeHTTPDNS(zone)
            let certificates = try TestCertificates()
            let nginx = try Nginx(certificates.leaf(addresses: ["127.0.0.1"]), backend: vendor)
            let dig = try Dig(
                nginx.address, "www.example.com", "AAAA", ["+https", "+tls-ca=" + certificates.authority])
            #expect(dig.addresses == ["2001:db8::1"])
            let get = try Dig(nginx.address, "alias.example.com", "A", ["+https-get"])
            #expect(get.answers.map(\.type) == ["CNAME", "A", "A"])
            let none = try Dig(nginx.address, "none.example.com", "A", ["+https"])
            #expect(none.status == "NXDOMAIN")
            #expect(none.authorities.map(\.type) == ["SOA"])
            let nodata = try Dig(nginx.address, "four.example.com", "AAAA", ["+https"])
            #expect(nodata.status == "NOERROR")
            #expect(nodata.answers.isEmpty)
            #expect(nginx.waitForRequests(4))
            #expect(nginx.requests.allSatisfy { $0.httpVersion == "HTTP/2.0" })
        }

        @Test func `nginx answers the Aliyun form itself, but not for slow names`() throws {
            let vendor = try FakeHTTPDNS(FakeZone("slow.example.com", a: ["192.0.2.99"]))
            let certificates = try TestCertificates()
            let nginx = try Nginx(certificates.leaf(names: ["vendor.example"]), backend: vendor)
            let base = "https://vendor.example:\(nginx.address.port)/139450/d?host="
            let outcome = try curl(
                "--cacert", certificates.authority, "--resolve", "vendor.example:\(nginx.address.port):127.0.0.1",
                base + "fast.example.com", base + "slow.example.com")
            #expect(outcome.output.contains(#""host":"fast.example.com","ips":["192.0.2.1"]"#))
            #expect(outcome.output.contains("192.0.2.99"))
            #expect(vendor.calls.map(\.name) == ["slow.example.com"])
            #expect(nginx.waitForRequests(2))
            #expect(nginx.connections == 1)
            #expect(nginx.requests.map(\.serverName) == ["vendor.example", "vendor.example"])
        }

        @Test func `LocalDNS forges, refuses, truncates and adds on command`() throws {
            let resolver = try FakeLocalDNS(zone)
            resolver.behave(.lie(["198.51.100.66"]), for: "a.example.com")
            #expect(try Dig(resolver.address, "a.example.com").addresses == ["198.51.100.66"])
            resolver.behave(.rcode(ResponseCode.refused), for: "b.example.com")
            #expect(try Dig(resolver.address, "b.example.com").status == "REFUSED")
            resolver.behave(.truncated, for: "www.example.com")
            let dig = try Dig(resolver.address, "www.example.com")
            #expect(dig.wasTruncated)
            #expect(dig.transport == "TCP")
            resolver.behave(.extraAddresses(["198.51.100.67"]), for: "four.example.com")
            #expect(try Dig(resolver.address, "four.example.com").text.contains("198.51.100.67"))
        }
    }
}
