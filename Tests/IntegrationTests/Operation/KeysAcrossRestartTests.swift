import TestServers
import TestSupport
import Testing

extension Integration {
    /// Whether an answer on disk, which was made without a key, stands against the key after a restart: with a key of each table,
    /// since `AnswerIdentityTests` name all that shape answers.
    struct KeysAcrossRestartTests {
        /// What changes with the restart, and the answer then. Before it the vendor had 192.0.2.1, and LocalDNS 198.51.100.1.
        struct Change: Sendable {
            var provider = ""
            var bypass: [String] = []
            var tables = ""
            let addresses: [String]
        }

        /// A name that is on disk whatever changes.
        private static let primer = "primer.example"

        private static func zone(_ address: String) -> FakeZone { FakeZone("*", a: [address], ttl: 3_600) }

        @Test(arguments: [
            Change(addresses: ["192.0.2.1"]),
            Change(provider: "client_subnet = \"192.0.2.0/24\"", addresses: ["192.0.2.2"]),
            Change(bypass: ["example.com"], addresses: ["198.51.100.2"]),
            Change(tables: "[answers]\nbogus = [\"192.0.2.1\"]\n", addresses: ["192.0.2.2"]),
            Change(tables: "[answers]\nprefer = \"ipv6-only\"\n", addresses: []),
            Change(
                tables: "[preset]\nalways = { \"www.example.com\" = [\"203.0.113.5\"] }\n", addresses: ["203.0.113.5"]),
        ])
        func `after a restart the answer follows the configuration, whatever is on disk`(change: Change) throws {
            let directory = try TemporaryDirectory()
            let vendor = try FakeHTTPDNS(Self.zone("192.0.2.1"))
            let localDNS = try FakeLocalDNS(Self.zone("198.51.100.1"))
            func daemon(_ change: Change) throws -> Daemon {
                let rest = DaemonConfiguration.rest(
                    localDNS: localDNS.address, disk: directory.path + "/cache.sqlite")
                return try Daemon(
                    DaemonConfiguration.aliyun(vendor.url, change.provider)
                        + DaemonConfiguration.route(bypass: [Self.primer] + change.bypass) + change.tables + rest)
            }
            let first = try daemon(Change(addresses: []))
            _ = try first.client().ask(Self.primer)
            #expect(try first.client().ask("www.example.com").addresses == ["192.0.2.1"])
            #expect(try first.stop() == 0)
            (vendor.zone, localDNS.zone) = (Self.zone("192.0.2.2"), Self.zone("198.51.100.2"))
            let second = try daemon(change)
            // The file is read while clients are served already.
            _ = try second.client().ask(Self.primer)
            #expect(second.waitForLog { $0.contains("of the last time from disk") })
            #expect(try second.client().ask("www.example.com").addresses == change.addresses)
        }
    }
}
