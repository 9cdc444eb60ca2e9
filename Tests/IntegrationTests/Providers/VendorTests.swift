import TestServers
import TestSupport
import Testing

extension Integration {
    /// `query NAME --via NAME` at services of each form, which verify signatures and ciphertexts with the `openssl` command.
    @Suite(.serialized)
    struct VendorTests {
        /// A form, and an account at its service.
        enum Form: String, CaseIterable, Sendable, CustomTestStringConvertible {
            case aliyun = "aliyun"
            case plain = "aliyun-v2, plain"
            case unsigned = "aliyun-v2, plain and unsigned"
            case cbc = "aliyun-v2, CBC"
            case gcm = "aliyun-v2, GCM"
            case des = "tencent, DES"
            case aes = "tencent, AES"
            case token = "tencent-https"
            case doh = "doh"
            case google = "doh-json, Google"
            case cloudflare = "doh-json, Cloudflare"
            case alidns = "doh-json, AliDNS with an account"
            case dnspod = "doh-json, DNSPod"

            static let secret = "0123456789abcdef0123456789abcdef"
            private static let alidnsAccount = FakeAliDNSAccount(
                id: "123456", accessKeyID: "ak0001", secret: "s3cr3ts3cr3t")

            var testDescription: String { rawValue }

            private var account: FakeAccount? {
                switch self {
                case .aliyun, .doh, .google, .cloudflare, .alidns, .dnspod: nil
                case .plain: .aliyunV2(FakeAliyunV2Account(mode: .plain))
                case .unsigned: .aliyunV2(FakeAliyunV2Account(secret: nil, mode: .plain))
                case .cbc: .aliyunV2(FakeAliyunV2Account(mode: .cbc))
                case .gcm: .aliyunV2(FakeAliyunV2Account(mode: .gcm))
                case .des: .tencent(.des(id: "1001", key: "k3yD3s8x"))
                case .aes: .tencent(.aes(id: "1001", key: "0123456789abcdef"))
                case .token: .tencent(.token("123456789"))
                }
            }

            private var dialect: FakeJSONDialect {
                switch self {
                case .cloudflare: .cloudflare
                case .alidns: .alidns(Self.alidnsAccount)
                case .dnspod: .dnspod
                default: .google
                }
            }

            /// Such a service.
            func service() throws -> FakeHTTPDNS {
                try FakeHTTPDNS(Stage.zone, secret: Self.secret, dialect: dialect, account: account)
            }

            /// The table of a provider at it.
            ///
            /// - Parameter secret: instead of the one that the account has.
            func table(_ vendor: FakeHTTPDNS, secret: String? = nil) -> String {
                switch (self, account) {
                case (.doh, _): DaemonConfiguration.doh(vendor.url, name: "vendor")
                case (.alidns, _):
                    DaemonConfiguration.dohJSON(
                        vendor.jsonURL, name: "vendor",
                        """
                        account = "\(Self.alidnsAccount.id)"
                        access_key_id = "\(Self.alidnsAccount.accessKeyID)"
                        secret = "\(secret ?? Self.alidnsAccount.secret)"
                        """)
                case (.google, _), (.cloudflare, _), (.dnspod, _):
                    DaemonConfiguration.dohJSON(vendor.jsonURL, name: "vendor")
                case (_, .aliyunV2(let account)?):
                    DaemonConfiguration.aliyunV2(
                        vendor.url, FakeAliyunV2Account(secret: secret ?? account.secret, mode: account.mode))
                case (_, .tencent(let account)?):
                    DaemonConfiguration.tencent(vendor.url, secret.map { .token($0) } ?? account)
                case (_, nil): DaemonConfiguration.aliyun(vendor.url, secret: secret ?? Self.secret)
                }
            }

            /// The output of `query` for a name that does not exist.
            var noSuchName: String {
                switch self {
                case .aliyun, .des, .aes, .token:
                    "no answer: empty, for a reason that the service does not give, after "
                default: "NXDOMAIN, from provider vendor in "
                }
            }

            /// The calls for both families of a name.
            var callsOfBoth: Set<String> {
                switch self {
                case .des, .aes, .token: ["addrs"]
                case .aliyun, .plain, .unsigned, .cbc, .gcm: ["4,6"]
                case .doh: ["1", "28"]
                case .google, .cloudflare, .alidns, .dnspod: ["A", "AAAA"]
                }
            }
        }

        /// Runs the command: again where the service, which starts programs, was too slow on a busy machine.
        private func query(_ vendor: FakeHTTPDNS, _ table: String, _ arguments: String...) throws
            -> ChildProcess.Outcome
        {
            let directory = try TemporaryDirectory()
            let file = try directory.write(table + DaemonConfiguration.rest(), to: "httpdnsd.toml")
            let end = ContinuousClock.now + .patience
            while true {
                let outcome = try Daemon.run(["query", "--config", file] + arguments + ["--via", "vendor"])
                let isLate = outcome.output.contains("no answer in time")
                if !isLate || ContinuousClock.now > end { return outcome }
                vendor.forget()
            }
        }

        @Test(arguments: Form.allCases)
        func `query gets both families, and what there is to report of a name that is not there`(form: Form) throws {
            let vendor = try form.service()
            let both = try query(vendor, form.table(vendor), "WWW.example.com", "A", "AAAA")
            #expect(both.status == 0, "\(both.output)\(both.errors)")
            #expect(both.output.lowercased().contains("www.example.com a: noerror, from provider vendor in "))
            #expect(both.output.contains(" 60 A 192.0.2.1\n") && both.output.contains(" 60 A 192.0.2.2\n"))
            #expect(both.output.hasSuffix(" AAAA 2001:db8::1\n"))
            #expect(Set(vendor.calls.map(\.types)) == form.callsOfBoth && vendor.callCount() == form.callsOfBoth.count)
            let none = try query(vendor, form.table(vendor), "none.example.com")
            #expect(none.status == 1)
            #expect(none.output.contains("none.example.com A: \(form.noSuchName)"), "\(none.output)")
        }

        @Test(arguments: [
            (Form.aliyun, String(Form.secret.reversed()), "InvalidSignature (HTTP 403)"),
            (.plain, String(Form.secret.reversed()), "InvalidSignature (HTTP 403)"), (.token, "987654321", "HTTP 401"),
            (.alidns, "not-the-secret-they-have", "InvalidKey (HTTP 403)"),
        ])
        func
            `a wrong secret is reported and not shown, and the next source answers without another question to the service`(
                form: Form, secret: String, refusal: String
            ) throws
        {
            let vendor = try form.service()
            let outcome = try query(vendor, form.table(vendor, secret: secret), "www.example.com")
            #expect(outcome.status == 1 && outcome.output.contains(refusal), "\(outcome.output)")
            vendor.forget()
            let localDNS = try FakeLocalDNS(FakeZone("*", a: ["198.51.100.1"]))
            let daemon = try Daemon(
                form.table(vendor, secret: secret) + DaemonConfiguration.rest(localDNS: localDNS.address))
            #expect(try daemon.dig("www.example.com").addresses == ["198.51.100.1"])
            #expect(daemon.waitForLog { $0.contains(refusal) })
            #expect(try daemon.dig("four.example.com").addresses == ["198.51.100.1"])
            #expect(vendor.requests.count { $0.target.contains("four") } == 0)
            #expect(!(outcome.output + outcome.errors + daemon.errors).contains(secret))
        }

        @Test func `of several types each is shown once, in order, and one that has an answer is enough`() throws {
            let vendor = try Form.doh.service()
            let table = Form.doh.table(vendor)
            let text = try query(vendor, table, "four.example.com", "AAAA", "a", "MX", "A")
            #expect(text.status == 0, "\(text.output)\(text.errors)")
            let heads = text.output.split(separator: "\n").filter { $0.contains(": ") }.map { $0.prefix { $0 != ":" } }
            #expect(heads == ["four.example.com AAAA", "four.example.com A", "four.example.com MX"])
            let json = try query(vendor, table, "four.example.com", "A", "MX", "--json")
            #expect(json.output.split(separator: "\n").count == 2)
            #expect(json.output.contains(#""type":"MX","status":"NODATA""#), "\(json.output)")
            #expect(try query(vendor, table, "four.example.com", "A", "TYPE").status == 2)
        }
    }
}
