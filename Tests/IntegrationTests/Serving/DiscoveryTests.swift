import TestServers
import TestSupport
import Testing

extension Integration {
    /// How clients find the encrypted listeners, and HTTPDNS on one of them.
    @Suite(.serialized)
    struct DiscoveryTests {
        private let certificates: TestCertificates
        private let leaf: TestCertificates.Leaf
        private let tls: UInt16
        private let https: UInt16

        init() throws {
            certificates = try TestCertificates()
            leaf = try certificates.leaf(names: ["dns.example"], addresses: ["127.0.0.1"])
            (tls, https) = (try FreePort.next(), try FreePort.next())
        }

        private func listen(_ leaf: TestCertificates.Leaf) -> String {
            """
            tls = ["127.0.0.1:\(tls)"]
            https = ["127.0.0.1:\(https)"]
            name = "dns.example"
            certificate = "\(leaf.certificate)"
            key = "\(leaf.key)"

            """
        }

        @Test func `a client that knows the address finds both listeners by it`() throws {
            let stage = try Stage(listen: listen(leaf))
            let output = try stage.daemon.dig("_dns.resolver.arpa", "SVCB").text
            #expect(output.contains("1 dns.example. alpn=\"h2\" port=\(https) ipv4hint=127.0.0.1"))
            #expect(output.contains("/dns-query{?dns}"))
            #expect(output.contains("2 dns.example. alpn=\"dot\" port=\(tls) ipv4hint=127.0.0.1"))
            #expect(stage.vendor.requests.isEmpty && stage.localDNS.questionCount() == 0)
        }

        @Test func `check says what keeps clients from using them, and nothing where all is well`() throws {
            func warnings(_ leaf: TestCertificates.Leaf) throws -> String {
                let text = "[listen]\n" + listen(leaf) + "[route]\nmode = \"localdns-only\"\n"
                let outcome = try Daemon.check(text)
                #expect(outcome.status == 0)
                return outcome.errors
            }
            #expect(try !warnings(leaf).contains(leaf.certificate))
            let nameless = try certificates.leaf(names: ["other.example"], addresses: ["127.0.0.1"])
            #expect(try warnings(nameless).contains("is not for dns.example"))
            let addressless = try certificates.leaf(names: ["dns.example"])
            #expect(try warnings(addressless).contains("is not for 127.0.0.1, so clients that know only the address"))
        }

        @Test func `profile prints what the configuration serves`() throws {
            let directory = try TemporaryDirectory()
            let file = try directory.write(
                "[listen]\n" + listen(leaf).replacing(":\(tls)", with: ":853") + "[route]\nmode = \"localdns-only\"\n",
                to: "p.toml")
            let android = try Daemon.run(["profile", "android", "--config", file])
            #expect(android.status == 0 && android.output == "dns.example\n")
            let chrome = try Daemon.run(["profile", "chrome", "--https", "https://a.example/q"])
            #expect(chrome.output.contains("https://a.example/q{?dns}"))
            #expect(try Daemon.run(["profile", "ios", "--https", "ftp://a.example/"]).status == 2)
        }

        @Test func `one daemon asks another over https, with encryption inside`() throws {
            let account = FakeAliyunV2Account(mode: .gcm)
            let central = try Stage(
                extra: "[answers]\nrotate = false\n[[account]]\nid = \"\(account.id)\"\n"
                    + "secret = \"\(account.secret ?? "")\"\nencryption = \"gcm\"\n"
                    + "encryption_key = \"\(account.encryptionKey)\"\n", listen: listen(leaf))
            let localDNS = try FakeLocalDNS(FakeZone(["*": .init(a: ["198.51.100.1"])]))
            let edge = try Daemon(
                DaemonConfiguration.aliyunV2(
                    "https://127.0.0.1:\(https)", account,
                    "ca_file = \"\(certificates.authority)\"\ntls_names = [\"dns.example\"]")
                    + DaemonConfiguration.route(mode: "httpdns-only")
                    + DaemonConfiguration.rest(localDNS: localDNS.address) + "[answers]\nrotate = false\n")
            #expect(try edge.dig("www.example.com").addresses == ["192.0.2.1", "192.0.2.2"])
            #expect(central.vendor.callCount() > 0)
        }
    }
}
