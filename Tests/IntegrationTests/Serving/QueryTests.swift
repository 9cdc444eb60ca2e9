import TestServers
import TestSupport
import Testing

extension Integration {
    /// `query NAME --via NAME` at services of the standards' forms, and with several types at once; `VendorTests` has
    /// the other forms.
    @Suite(.serialized)
    struct QueryTests {
        /// A form that asks for each type separately.
        enum Form: CaseIterable {
            case doh, google, cloudflare, alidns, dnspod

            static let account = FakeAliDNSAccount(id: "123456", accessKeyID: "ak0001", secret: "s3cr3ts3cr3t")

            var dialect: FakeJSONDialect {
                switch self {
                case .doh, .google: .google
                case .cloudflare: .cloudflare
                case .alidns: .alidns(Self.account)
                case .dnspod: .dnspod
                }
            }
        }

        /// A service, and a configuration file with it as the only provider.
        private struct Service {
            let vendor: FakeHTTPDNS
            private let table: String

            init(_ form: Form, secret: String = Form.account.secret) throws {
                vendor = try FakeHTTPDNS(Stage.zone, dialect: form.dialect)
                let account = """
                    account = "\(Form.account.id)"
                    access_key_id = "\(Form.account.accessKeyID)"
                    secret = "\(secret)"
                    """
                table =
                    switch form {
                    case .doh: DaemonConfiguration.doh(vendor.url, name: "vendor")
                    case .alidns: DaemonConfiguration.dohJSON(vendor.jsonURL, name: "vendor", account)
                    default: DaemonConfiguration.dohJSON(vendor.jsonURL, name: "vendor")
                    }
            }

            func query(_ arguments: String...) throws -> ChildProcess.Outcome {
                let directory = try TemporaryDirectory()
                let file = try directory.write(table + DaemonConfiguration.rest(), to: "httpdnsd.toml")
                return try Daemon.run(["query", "--config", file] + arguments + ["--via", "vendor"])
            }
        }

        @Test(arguments: Form.allCases)
        func `each family, both, and a name that is not there`(form: Form) throws {
            let service = try Service(form)
            let four = try service.query("www.example.com")
            #expect(four.status == 0, "\(four.output)\(four.errors)")
            #expect(four.output.contains("www.example.com 60 A 192.0.2.1\nwww.example.com 60 A 192.0.2.2\n"))
            let six = try service.query("WWW.example.com", "AAAA")
            #expect(six.output.hasSuffix(" AAAA 2001:db8::1\n"), "\(six.output)\(six.errors)")
            service.vendor.forget()
            let both = try service.query("www.example.com", "A", "AAAA")
            #expect(both.status == 0)
            #expect(both.output.contains("A 192.0.2.2\n") && both.output.hasSuffix(" AAAA 2001:db8::1\n"))
            #expect(service.vendor.callCount() == 2)
            let none = try service.query("none.example.com", "A", "AAAA")
            #expect(none.status == 1)
            #expect(none.output.contains("none.example.com A: NXDOMAIN, from provider vendor in "))
            #expect(none.output.contains("none.example.com AAAA: NXDOMAIN, from provider vendor in "))
        }

        @Test func `a service that hangs is given up`() throws {
            let service = try Service(.doh)
            service.vendor.misbehave(.hang)
            let outcome = try service.query("www.example.com", "A", "AAAA")
            #expect(outcome.status == 1)
            #expect(outcome.output.contains("www.example.com A: no answer"))
            #expect(outcome.output.contains("www.example.com AAAA: no answer"))
        }

        @Test func `a wrong secret is reported, and nothing of it is shown`() throws {
            let secret = "not-the-secret-they-have"
            let service = try Service(.alidns, secret: secret)
            let outcome = try service.query("www.example.com")
            #expect(outcome.status == 1)
            #expect(outcome.output.contains("InvalidKey (HTTP 403)"), "\(outcome.output)")
            #expect(!(outcome.output + outcome.errors).contains(secret))
            #expect(service.vendor.requests.count == 1)
        }

        @Test func `of several types each is shown once, in order, and one that has an answer is enough`() throws {
            let service = try Service(.doh)
            let text = try service.query("four.example.com", "AAAA", "a", "MX", "A")
            #expect(text.status == 0, "\(text.output)\(text.errors)")
            let heads = text.output.split(separator: "\n").filter { $0.contains(": ") }.map { $0.prefix { $0 != ":" } }
            #expect(heads == ["four.example.com AAAA", "four.example.com A", "four.example.com MX"])
            let json = try service.query("four.example.com", "A", "MX", "--json")
            #expect(json.output.split(separator: "\n").count == 2)
            #expect(json.output.contains(#""type":"MX","status":"NODATA""#), "\(json.output)")
            #expect(try service.query("four.example.com", "A", "TYPE").status == 2)
        }
    }
}
