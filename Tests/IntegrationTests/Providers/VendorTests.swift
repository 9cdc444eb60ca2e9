import TestServers
import TestSupport
import Testing

extension Integration {
    /// The proprietary forms, each with a service that verifies signatures and ciphertexts with the `openssl` command.
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

            static let secret = "0123456789abcdef0123456789abcdef"

            var testDescription: String { rawValue }

            /// The service's account; nil for the form that the fake always accepts.
            var account: FakeAccount? {
                switch self {
                case .aliyun: nil
                case .plain: .aliyunV2(FakeAliyunV2Account(mode: .plain))
                case .unsigned: .aliyunV2(FakeAliyunV2Account(secret: nil, mode: .plain))
                case .cbc: .aliyunV2(FakeAliyunV2Account(mode: .cbc))
                case .gcm: .aliyunV2(FakeAliyunV2Account(mode: .gcm))
                case .des: .tencent(.des(id: "1001", key: "k3yD3s8x"))
                case .aes: .tencent(.aes(id: "1001", key: "0123456789abcdef"))
                case .token: .tencent(.token("123456789"))
                }
            }

            /// The same account with a different secret, key or token.
            var wrong: FakeAccount? {
                switch self {
                case .aliyun, .unsigned: nil
                case .plain: .aliyunV2(FakeAliyunV2Account(secret: String(Self.secret.reversed()), mode: .plain))
                case .cbc: .aliyunV2(FakeAliyunV2Account(mode: .cbc, encryptionKey: Self.secret))
                case .gcm: .aliyunV2(FakeAliyunV2Account(mode: .gcm, encryptionKey: Self.secret))
                case .des: .tencent(.des(id: "1001", key: "an0therK"))
                case .aes: .tencent(.aes(id: "1001", key: "fedcba9876543210"))
                case .token: .tencent(.token("987654321"))
                }
            }

            /// The output of `query` for a name that does not exist.
            var noSuchName: String {
                switch self {
                case .plain, .unsigned, .cbc, .gcm: "NXDOMAIN, from provider vendor in "
                case .aliyun, .des, .aes, .token:
                    "no answer: empty, for a reason that the service does not give, after "
                }
            }

            /// The output of `query` for a secret, key or token that is not the account's.
            var refusal: String {
                switch self {
                case .aliyun, .plain: "InvalidSignature (HTTP 403)"
                // The fake's own choice: what the service returns is not published.
                case .cbc, .gcm: "InvalidEncryption (HTTP 400)"
                // Tencent's service does not report it.
                case .des, .aes: "empty, for a reason that the service does not give"
                case .token: "HTTP 401"
                case .unsigned: ""
                }
            }

            /// How the families are written when both are asked for.
            var bothFamilies: String {
                switch self {
                case .des, .aes, .token: "addrs"
                case .aliyun, .plain, .unsigned, .cbc, .gcm: "4,6"
                }
            }
        }

        /// A vendor, and a configuration file with it as the only provider.
        private struct Service {
            let vendor: FakeHTTPDNS
            let table: String

            init(_ form: Form, hasWrongSecret: Bool = false) throws {
                try self.init(
                    VendorTests.zone, form.account, shown: hasWrongSecret ? form.wrong : form.account,
                    secret: String(hasWrongSecret ? String(Form.secret.reversed()) : Form.secret))
            }

            /// - Parameters:
            ///   - account: the service's.
            ///   - shown: the one that is configured.
            init(_ zone: FakeZone, _ account: FakeAccount?, shown: FakeAccount?, secret: String = Form.secret) throws {
                vendor = try FakeHTTPDNS(zone, secret: Form.secret, account: account)
                table =
                    switch shown {
                    case nil: DaemonConfiguration.aliyun(vendor.url, secret: secret)
                    case .aliyunV2(let account)?: DaemonConfiguration.aliyunV2(vendor.url, account)
                    case .tencent(let account)?: DaemonConfiguration.tencent(vendor.url, account)
                    }
            }

            /// Runs the command: again where the service, which starts programs, was too slow on a busy machine.
            func query(_ arguments: String...) throws -> ChildProcess.Outcome {
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
        }

        private static let zone = Stage.zone
        /// LocalDNS's answer for every name: seen when the vendor's answer was not usable.
        private static let local = FakeZone(["*": .init(a: ["198.51.100.1"], aaaa: ["2001:db8:ffff::1"])])

        @Test(arguments: Form.allCases)
        func `query gets each family, and what there is to report of a name that is not there`(form: Form) throws {
            let service = try Service(form)
            let four = try service.query("www.example.com")
            #expect(four.status == 0, "\(four.output)\(four.errors)")
            #expect(four.output.contains("www.example.com A: NOERROR, from provider vendor in "))
            #expect(four.output.contains("www.example.com 60 A 192.0.2.1\nwww.example.com 60 A 192.0.2.2\n"))
            let six = try service.query("WWW.example.com", "AAAA")
            #expect(six.status == 0, "\(six.output)\(six.errors)")
            #expect(six.output.hasSuffix(" AAAA 2001:db8::1\n"))
            let none = try service.query("none.example.com")
            #expect(none.status == 1)
            #expect(none.output.contains("none.example.com A: \(form.noSuchName)"))
            #expect(service.vendor.callCount() == 3)
            service.vendor.forget()
            let both = try service.query("www.example.com", "A", "AAAA")
            #expect(both.status == 0, "\(both.output)\(both.errors)")
            #expect(both.output.contains("www.example.com 60 A 192.0.2.1\nwww.example.com 60 A 192.0.2.2\n"))
            #expect(both.output.hasSuffix(" AAAA 2001:db8::1\n"))
            #expect(service.vendor.calls.map(\.types) == [form.bothFamilies])
        }

        @Test(arguments: Form.allCases)
        func `a client that asks for both families costs one call`(form: Form) throws {
            let service = try Service(form)
            let localDNS = try FakeLocalDNS(Self.local)
            let daemon = try Daemon(
                service.table + DaemonConfiguration.route(mode: "httpdns-only")
                    + DaemonConfiguration.rest(localDNS: localDNS.address))
            #expect(try daemon.dig("www.example.com").addresses == ["192.0.2.1", "192.0.2.2"])
            #expect(try daemon.dig("www.example.com", "AAAA").addresses == ["2001:db8::1"])
            #expect(service.vendor.calls.map(\.name) == ["www.example.com"])
            #expect(service.vendor.calls.map(\.types) == [form.bothFamilies])
            // Only IPv4: the service has the name, so there is no IPv6.
            let empty = try daemon.dig("four.example.com", "AAAA")
            #expect(empty.status == "NOERROR")
            #expect(empty.addresses.isEmpty)
            #expect(localDNS.questionCount() == 0)
        }

        @Test(arguments: Form.allCases.filter { $0 != .unsigned })
        func `a wrong secret is reported as far as the service does so, and nothing of it is shown`(form: Form) throws {
            let service = try Service(form, hasWrongSecret: true)
            let outcome = try service.query("www.example.com")
            #expect(outcome.status == 1)
            #expect(outcome.output.contains(form.refusal), "\(outcome.output)")
            #expect(service.vendor.requests.count == 1)
            for secret in [Form.secret, String(Form.secret.reversed()), "an0therK", "fedcba9876543210", "987654321"] {
                #expect(!(outcome.output + outcome.errors).contains(secret))
            }
        }

        @Test(arguments: [Form.plain, .token])
        func `a service that refuses the account is asked by no second question, and the next source is`(form: Form)
            throws
        {
            let service = try Service(form, hasWrongSecret: true)
            let localDNS = try FakeLocalDNS(Self.local)
            let daemon = try Daemon(service.table + DaemonConfiguration.rest(localDNS: localDNS.address))
            #expect(try daemon.dig("www.example.com").addresses == ["198.51.100.1"])
            #expect(daemon.waitForLog { $0.contains(form.refusal) })
            #expect(try daemon.dig("four.example.com").addresses == ["198.51.100.1"])
            let asked = ["www", "four"].map { name in service.vendor.requests.count { $0.target.contains(name) } }
            #expect(asked == [1, 0])
        }

        @Test(arguments: Form.allCases)
        func `a reply for another name is no answer, the next source is asked`(form: Form) throws {
            let service = try Service(form)
            service.vendor.misbehave(.wrongName)
            let localDNS = try FakeLocalDNS(Self.local)
            let daemon = try Daemon(service.table + DaemonConfiguration.rest(localDNS: localDNS.address))
            #expect(try daemon.dig("www.example.com").addresses == ["198.51.100.1"])
            #expect(!daemon.errors.contains("refuse"))
        }

        @Test(arguments: [FakeAliyunV2Account.Mode.cbc, .gcm])
        func `a reply under another key is no answer, and no reason to put the account in backoff`(
            mode: FakeAliyunV2Account.Mode
        ) throws {
            var account = FakeAliyunV2Account(mode: mode)
            account.replyKey = Form.secret
            let service = try Service(Self.zone, .aliyunV2(account), shown: .aliyunV2(account))
            let outcome = try service.query("www.example.com")
            #expect(outcome.status == 1)
            #expect(outcome.output.contains("the reply cannot be decrypted"))
        }

        @Test(arguments: Form.allCases)
        func `check and status mark each form over http: it can be forged or replayed on the path`(form: Form) throws {
            let service = try Service(form)
            let directory = try TemporaryDirectory()
            let control = directory.path + "/control.sock"
            let text = service.table + DaemonConfiguration.rest(control: control)
            let mark = "can be forged or replayed on the path"
            let check = try Daemon.check("[listen]\naddresses = [\"127.0.0.1:5399\"]\n" + text)
            #expect(check.status == 0)
            #expect(check.output.contains(mark))
            let daemon = try Daemon(text)
            let status = try Daemon.run(["status", "--config", daemon.configurationFile])
            #expect(status.status == 0)
            #expect(status.output.contains(mark))
        }

        @Test func `tencent-https is asked over TLS, and its certificate checked`() throws {
            let account = FakeTencentAccount.token("123456789")
            let backend = try FakeHTTPDNS(Self.zone, account: .tencent(account))
            let certificates = try TestCertificates()
            let nginx = try Nginx(certificates.leaf(addresses: ["127.0.0.1"]), backend: backend)
            let localDNS = try FakeLocalDNS(Self.local)
            func daemon(_ extra: String) throws -> Daemon {
                try Daemon(
                    DaemonConfiguration.tencent(nginx.url, account, "ca_file = \"\(certificates.authority)\"\n" + extra)
                        + DaemonConfiguration.rest(localDNS: localDNS.address))
            }
            #expect(try daemon("").dig("www.example.com").addresses == ["192.0.2.1", "192.0.2.2"])
            #expect(
                try daemon(#"tls_names = ["other.example"]"#).dig("www.example.com").addresses == ["198.51.100.1"])
        }
    }
}
