import Foundation
import TestServers
import TestSupport
import Testing

extension Integration {
    /// Hosts of services that a hijacked LocalDNS, or a provider, gives a forged address for.
    @Suite(.serialized)
    struct HostLookupTests {
        private static let host = "dns.vendor.example"
        private static let forged = FakeZone(["*": .init(a: ["127.0.0.66"])])
        private static let honest = FakeZone(host, a: ["127.0.0.1"])

        private let certificates: TestCertificates
        private let directory: TemporaryDirectory

        init() throws {
            certificates = try TestCertificates()
            directory = try TemporaryDirectory()
        }

        /// Whether a name that one provider alone knows, whose host is looked up.
        private func isAnswered(known: FakeZone, localDNS: FakeZone) throws -> Bool {
            let backend = try FakeHTTPDNS(FakeZone(["*": .init(a: ["192.0.2.9"], ttl: 1)]))
            let nginx = try Nginx(
                certificates.leaf(names: [Self.host]), backend: backend, answersItself: false)
            let known = try FakeHTTPDNS(known)
            let local = try FakeLocalDNS(localDNS)
            let daemon = try Daemon(
                DaemonConfiguration.doh(
                    "https://\(Self.host):\(nginx.address.port)",
                    "names = [\"example.net\"]\nca_file = \"\(certificates.authority)\"")
                    + DaemonConfiguration.aliyun(known.url, "names = [\"vendor.example\"]")
                    + DaemonConfiguration.rest(localDNS: local.address))
            let client = try daemon.client()
            var number = 0
            // Another name each time: what LocalDNS has answered meanwhile would be cached.
            return try eventually {
                number += 1
                return try client.ask("n\(number).example.net").addresses == ["192.0.2.9"]
            }
        }

        @Test func `a hijacked LocalDNS does not keep a provider away that another provider knows`() throws {
            #expect(try isAnswered(known: Self.honest, localDNS: Self.forged))
        }

        @Test(arguments: [forged, FakeZone()])
        func `a provider that knows nothing of the host, or forges, does not keep it away`(known: FakeZone) throws {
            #expect(try isAnswered(known: known, localDNS: Self.honest))
        }

        @Test func `check warns of a provider whose host depends on LocalDNS alone`() throws {
            func warnings(_ lines: String) throws -> Int {
                let file = directory.path + "/check.toml"
                try (lines + DaemonConfiguration.rest(localDNS: TestAddress("192.0.2.53", port: 53)))
                    .write(toFile: file, atomically: true, encoding: .utf8)
                let outcome = try Daemon.run(["check", "--config", file])
                return outcome.errors.split(separator: "\n").count { $0.contains("through LocalDNS alone") }
            }
            let named = DaemonConfiguration.doh("https://\(Self.host)")
            let known = DaemonConfiguration.doh("https://192.0.2.1", name: "known")
            #expect(try warnings(named) == 1)
            #expect(try warnings(named + known) == 0)
            #expect(try warnings(known) == 0)
            #expect(try warnings(DaemonConfiguration.doh("https://\(Self.host)", "addresses = [\"192.0.2.1\"]")) == 0)
            #expect(try warnings(named + known + DaemonConfiguration.route(bypass: ["vendor.example"])) == 1)
            let other = DaemonConfiguration.doh("https://192.0.2.1", name: "known", "names = [\"example.net\"]")
            #expect(try warnings(named + other) == 1)
        }
    }
}
