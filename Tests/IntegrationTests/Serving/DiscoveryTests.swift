import TestServers
import TestSupport
import Testing

extension Integration {
    /// How clients find the encrypted listeners, and HTTPDNS on one of them.
    struct DiscoveryTests {
        private let listeners: EncryptedListeners

        init() throws { listeners = try EncryptedListeners() }

        private func listen(_ leaf: TestCertificates.Leaf? = nil) -> String {
            var listeners = listeners
            listeners.leaf = leaf ?? listeners.leaf
            return listeners.lines("tls", "https") + "name = \"dns.example\"\n"
        }

        @Test func `a client that knows the address finds both listeners by it`() throws {
            let stage = try Stage(listen: listen())
            let output = try stage.daemon.dig("_dns.resolver.arpa", "SVCB").text
            #expect(output.contains("1 dns.example. alpn=\"h2\" port=\(listeners.https) ipv4hint=127.0.0.1"))
            #expect(output.contains("/dns-query{?dns}"))
            #expect(output.contains("2 dns.example. alpn=\"dot\" port=\(listeners.tls) ipv4hint=127.0.0.1"))
            #expect(stage.vendor.requests.isEmpty && stage.localDNS.questionCount() == 0)
        }

        @Test func `check says what keeps clients from using them, and nothing where all is well`() throws {
            func warnings(_ leaf: TestCertificates.Leaf) throws -> String {
                let text = "[listen]\n" + listen(leaf) + "[route]\nmode = \"localdns-only\"\n"
                let outcome = try Daemon.check(text)
                #expect(outcome.status == 0)
                return outcome.errors
            }
            #expect(try !warnings(listeners.leaf).contains(listeners.leaf.certificate))
            let nameless = try listeners.certificates.leaf(names: ["other.example"], addresses: ["127.0.0.1"])
            #expect(try warnings(nameless).contains("is not for dns.example"))
            let addressless = try listeners.certificates.leaf(names: ["dns.example"])
            #expect(try warnings(addressless).contains("is not for 127.0.0.1, so clients that know only the address"))
        }

        @Test func `profile prints what the configuration serves`() throws {
            let directory = try TemporaryDirectory()
            let file = try directory.write(
                "[listen]\n" + listen().replacing(":\(listeners.tls)", with: ":853")
                    + "[route]\nmode = \"localdns-only\"\n",
                to: "p.toml")
            let android = try Daemon.run(["profile", "android", "--config", file])
            #expect(android.status == 0 && android.output == "dns.example\n")
            let chrome = try Daemon.run(["profile", "chrome", "--https", "https://a.example/q"])
            #expect(chrome.output.contains("https://a.example/q{?dns}"))
            #expect(try Daemon.run(["profile", "ios", "--https", "ftp://a.example/"]).status == 2)
        }

        @Test func `one daemon asks another over https, with encryption inside`() throws {
            let central = try Stage(
                extra: "[answers]\nrotate = false\n" + VendorForm.gcm.accountTable, listen: listen())
            let localDNS = try FakeLocalDNS(FakeZone(["*": .init(a: ["198.51.100.1"])]))
            let edge = try Daemon(
                VendorForm.gcm.provider(
                    "https://127.0.0.1:\(listeners.https)",
                    "ca_file = \"\(listeners.certificates.authority)\"\ntls_names = [\"dns.example\"]")
                    + DaemonConfiguration.route(mode: "httpdns-only")
                    + DaemonConfiguration.rest(localDNS: localDNS.address) + "[answers]\nrotate = false\n")
            #expect(try edge.dig("www.example.com").addresses == ["192.0.2.1", "192.0.2.2"])
            #expect(central.vendor.callCount() > 0)
        }
    }
}
