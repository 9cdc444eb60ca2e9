import Foundation
import TestServers
import TestSupport
import Testing

extension Integration {
    /// HTTPDNS served by the daemon, in the vendors' own forms.
    @Suite(.serialized)
    struct ServiceTests {
        /// A form in which one daemon asks another, and the account for it there.
        enum Form: String, CaseIterable, Sendable, CustomTestStringConvertible {
            case aliyun, signed, plain, cbc, gcm, des, aes, token, json

            private static let secret = VendorTests.Form.secret

            var testDescription: String { rawValue }

            var account: String {
                let lines =
                    switch self {
                    case .aliyun: "id = \"139450\""
                    case .signed, .plain: "id = \"139450\"\nsecret = \"\(Self.secret)\""
                    case .cbc, .gcm:
                        "id = \"139450\"\nsecret = \"\(Self.secret)\"\nencryption = \"\(rawValue)\"\n"
                            + "encryption_key = \"\(FakeAliyunV2Account(mode: .cbc).encryptionKey)\""
                    case .des: "id = \"1001\"\nencryption = \"des\"\nencryption_key = \"k3yD3s8x\""
                    case .aes: "id = \"1001\"\nencryption = \"aes\"\nencryption_key = \"0123456789abcdef\""
                    case .token: "id = \"1\"\nsecret = \"123456789\""
                    case .json: "id = \"1\""
                    }
                return "[[account]]\n\(lines)\n"
            }

            func provider(_ url: String) -> String {
                switch self {
                case .aliyun: DaemonConfiguration.aliyun(url)
                case .signed: DaemonConfiguration.aliyun(url, secret: Self.secret)
                case .plain: DaemonConfiguration.aliyunV2(url, FakeAliyunV2Account(secret: Self.secret, mode: .plain))
                case .cbc: DaemonConfiguration.aliyunV2(url, FakeAliyunV2Account(secret: Self.secret, mode: .cbc))
                case .gcm: DaemonConfiguration.aliyunV2(url, FakeAliyunV2Account(secret: Self.secret, mode: .gcm))
                case .des: DaemonConfiguration.tencent(url, .des(id: "1001", key: "k3yD3s8x"))
                case .aes: DaemonConfiguration.tencent(url, .aes(id: "1001", key: "0123456789abcdef"))
                case .token: DaemonConfiguration.tencent(url, .token("123456789"))
                case .json: DaemonConfiguration.dohJSON(url + "/resolve")
                }
            }
        }

        /// A daemon that serves HTTPDNS, behind it one fake vendor.
        private struct Central {
            let stage: Stage
            let url: String

            init(_ accounts: String, listen: String = "", on port: UInt16? = nil) throws {
                let port = try port ?? FreePort.next()
                url = "http://127.0.0.1:\(port)"
                stage = try Stage(
                    extra: "[answers]\nrotate = false\n" + accounts,
                    listen: "httpdns = [\"127.0.0.1:\(port)\"]\n\(listen)")
            }

            /// The body and status of the response to a vendor's request.
            func get(_ target: String, _ options: String...) throws -> (body: String, status: String) {
                let outcome = try ChildProcess.run(
                    ["curl", "--silent", "--noproxy", "*", "--globoff", "--write-out", "\n%{http_code}"] + options
                        + [url + target])
                let lines = outcome.output.split(separator: "\n", omittingEmptySubsequences: false)
                return (lines.dropLast().joined(separator: "\n"), String(lines.last ?? ""))
            }
        }

        @Test(arguments: Form.allCases)
        func `one daemon asks another in every form`(form: Form) throws {
            let central = try Central(form.account)
            let localDNS = try FakeLocalDNS(FakeZone(["*": .init(a: ["198.51.100.1"])]))
            let edge = try Daemon(
                form.provider(central.url) + DaemonConfiguration.route(mode: "httpdns-only")
                    + DaemonConfiguration.rest(localDNS: localDNS.address) + "[answers]\nrotate = false\n")
            #expect(try edge.dig("www.example.com").addresses == ["192.0.2.1", "192.0.2.2"])
            #expect(try edge.dig("www.example.com", "AAAA").addresses == ["2001:db8::1"])
            #expect(try edge.dig("four.example.com", "AAAA").status == "NOERROR")
            #expect(localDNS.questionCount() == 0)
        }

        @Test(arguments: [Form.signed, .plain])
        func `an edge whose clock is wrong learns the time from the central one`(form: Form) throws {
            let central = try Central(form.account)
            let clock = try WrongClock(ahead: -7_200)
            let edge = try Daemon(
                form.provider(central.url) + DaemonConfiguration.route(mode: "httpdns-only")
                    + DaemonConfiguration.rest() + "[answers]\nrotate = false\n", environment: clock.environment)
            #expect(try edge.dig("www.example.com").addresses == ["192.0.2.1", "192.0.2.2"])
        }

        @Test func `an app's own request gets the vendor's reply, byte for byte`() throws {
            let central = try Central(
                "[[account]]\nid = \"1001\"\nencryption = \"des\"\nencryption_key = \"k3yD3s8x\"\nclient_subnet = true\n"
            )
            let reply = try central.get(
                "/d?dn=5d3bf9d247bddbd0e75393177aae4175&id=1001&alg=des&ttl=1&clientip=1&ip=203.0.113.7")
            #expect(reply.status == "200")
            #expect(
                reply.body == "fb7d7eac1c4e53e7b2da01b215b9f0a26482b919aca5ae2c76a1f68445b7b4ecd645651ed636cb50")
        }

        @Test func `the answer comes from the cache that all clients have`() throws {
            let central = try Central("[[account]]\nid = \"1\"\n")
            _ = try central.stage.ask("www.example.com")
            let calls = central.stage.vendor.callCount()
            #expect(try central.get("/1/d?host=www.example.com").body.contains("\"192.0.2.1\",\"192.0.2.2\""))
            #expect(try central.get("/resolve?name=www.example.com&type=1").body.contains("\"data\":\"192.0.2.1\""))
            #expect(central.stage.vendor.callCount() == calls)
        }

        @Test func `a client that is not allowed needs credentials, and an honest one has them`() throws {
            let central = try Central(Form.token.account, listen: "allow = [\"192.0.2.0/24\"]\n")
            #expect(try central.get("/d?dn=www.example.com").status == "403")
            #expect(try central.get("/resolve?name=www.example.com").status == "403")
            #expect(try central.get("/d?dn=www.example.com&token=123456789").body == "192.0.2.1;192.0.2.2")
        }

        @Test func `beyond its quota an account gets nothing, and another one still does`() throws {
            let central = try Central("[[account]]\nid = \"1\"\ndaily_limit = 2\n[[account]]\nid = \"2\"\n")
            #expect(try central.get("/1/d?host=www.example.com&query=4,6").status == "200")
            let reply = try central.get("/1/d?host=www.example.com")
            #expect(reply.status == "429" && reply.body == "{\"code\":\"ServiceLevelDeny\"}")
            #expect(try central.get("/2/d?host=www.example.com").status == "200")
        }

        @Test func `a client that is not allowed uses up nothing of an account`() throws {
            let central = try Central(
                Form.des.account + "daily_limit = 2\n", listen: "allow = [\"192.0.2.0/24\"]\n")
            for target in [
                "/1001/resolve?host=a.example.com,b.example.com", "/v2/d?id=1001&dn=a.example.com,b.example.com",
            ] {
                let reply = try central.get(target)
                #expect(reply.status == "403" && reply.body == "{\"code\":\"ServiceLevelDeny\"}")
            }
            #expect(
                try central.get("/d?dn=5d3bf9d247bddbd0e75393177aae4175&id=1001&alg=des").status == "200")
        }

        @Test func `what is used up of a quota is so after a restart`() throws {
            let directory = try TemporaryDirectory()
            let (vendor, localDNS) = (try FakeHTTPDNS(Stage.zone), try FakeLocalDNS(FakeZone()))
            let port = try FreePort.next()
            func start() throws -> Daemon {
                try Daemon(
                    DaemonConfiguration.aliyun(vendor.url) + "[[account]]\nid = \"1\"\ndaily_limit = 60\n"
                        + DaemonConfiguration.rest(localDNS: localDNS.address)
                        .replacingOccurrences(of: "path = \"\"", with: "path = \"\(directory.path)/cache.sqlite\""),
                    listen: "httpdns = [\"127.0.0.1:\(port)\"]\n")
            }
            /// Uses up what is left; returns how many questions were answered.
            func useUp() throws -> Int {
                let target = "http://127.0.0.1:\(port)/1/d?host=www.example.com&query=4,6"
                for answered in 0..<100 {
                    let words = ["curl", "--silent", "--noproxy", "*", "--globoff", "--output", "/dev/null"]
                    let reply = try ChildProcess.run(words + ["--write-out", "%{http_code}", target])
                    if reply.output == "429" { return answered }
                    #expect(reply.output == "200")
                }
                return 100
            }
            let first = try start()
            #expect(try useUp() == 30)
            #expect(try first.stop() == 0)
            let second = try start()
            #expect(try useUp() < 30)
            #expect(try second.stop() == 0)
        }

        @Test func `guesses at a token are braked, and a client that has the token is served before`() throws {
            let central = try Central(Form.token.account)
            for _ in 1...10 { #expect(try central.get("/d?dn=www.example.com&token=1").status == "401") }
            #expect(try central.get("/d?dn=www.example.com&token=1").status == "429")
            #expect(try central.get("/d?dn=www.example.com&token=123456789").status == "429")
            #expect(central.stage.daemon.waitForLog { $0.contains("wrong credentials of accounts") })
            #expect(!central.stage.daemon.errors.contains("token=1"))
        }

        @Test func `a daemon that asks itself finds it, and the next source answers`() throws {
            let port = try FreePort.next()
            let localDNS = try FakeLocalDNS(FakeZone(["*": .init(a: ["198.51.100.1"])]))
            let daemon = try Daemon(
                DaemonConfiguration.dohJSON("http://127.0.0.1:\(port)/resolve")
                    + DaemonConfiguration.rest(localDNS: localDNS.address),
                listen: "httpdns = [\"127.0.0.1:\(port)\"]\n")
            #expect(try daemon.dig("www.example.com").addresses == ["198.51.100.1"])
            #expect(daemon.waitForLog { $0.contains("HTTP 508") })
        }

        @Test func `another method gets status 405 without a body in every form`() throws {
            let central = try Central("[[account]]\nid = \"1\"\n")
            for target in ["/d?dn=www.example.com", "/conf", "/1/d?host=a.example", "/resolve?name=a.example"] {
                let reply = try central.get(target, "--head", "--output", "/dev/null")
                #expect(reply.status == "405")
                let deleted = try central.get(target, "--request", "DELETE")
                #expect(deleted.status == "405" && deleted.body.isEmpty)
            }
        }

        @Test func `other paths, and queries of DNS over HTTPS, are not served in plain http`() throws {
            let central = try Central("")
            #expect(try central.get("/").status == "404")
            #expect(try central.get("/dns-query?dns=AAABAAABAAAAAAAAA3d3dwdleGFtcGxlA2NvbQAAAQAB").status == "404")
        }
    }
}
