import TestServers
import TestSupport
import Testing

extension Integration {
    /// A machine on a network of IPv6 alone, whose router translates to IPv4 (NAT64).
    @Suite(.requires(.networkNamespaces), .requires(.noSystemResolverLists))
    struct NAT64Tests {
        /// The provider's address, and what leads there through the translator.
        private static let (provider, translated) = ("192.0.2.99", "64:ff9b::c000:263")

        private let host: ClientHost
        /// Behind the translator, where it listens at the address that stands for its own.
        private let vendor: FakeHTTPDNS
        private let localDNS: FakeLocalDNS

        init() throws {
            host = try ClientHost()
            try host.namespace.run(["ip", "-4", "address", "flush", "dev", "veth0"])
            try host.namespace.run(["ip", "-6", "route", "add", "default", "via", ClientHost.neighbourAddresses[1]])
            // Without duplicate address detection: only then can it be bound at once.
            try host.neighbour.run(["ip", "address", "add", Self.translated + "/128", "dev", "lo", "nodad"])
            let zone = FakeZone([
                "four.example.com": .init(a: ["198.51.100.4"]),
                "both.example.com": .init(a: ["198.51.100.5"], aaaa: ["2001:db8::5"]),
            ])
            let network = FakeZone([
                "ipv4only.arpa": .init(
                    a: ["192.0.0.170", "192.0.0.171"], aaaa: ["64:ff9b::c000:aa", "64:ff9b::c000:ab"], ttl: 3_600)
            ])
            (vendor, localDNS) = try host.neighbour.inside {
                (
                    try FakeHTTPDNS(zone, host: Self.translated),
                    try FakeLocalDNS(network, host: ClientHost.neighbourAddresses[1], port: 53)
                )
            }
        }

        private func daemon(_ answers: String) throws -> Daemon {
            try Daemon(configuration(answers), port: 53, namespace: host.namespace)
        }

        private func configuration(_ answers: String) -> String {
            DaemonConfiguration.aliyun("http://\(Self.provider):\(vendor.address.port)") + answers
                + DaemonConfiguration.rest(localDNS: localDNS.address, control: DaemonConfiguration.ownSocket)
        }

        private func dig(_ daemon: Daemon, _ name: String) throws -> [String] {
            try Dig(daemon.address, name, "AAAA", namespace: host.namespace).addresses
        }

        @Test func `the provider is reached through the translator, and a name with IPv4 alone has IPv6`() throws {
            let daemon = try daemon("")
            #expect(try dig(daemon, "four.example.com") == ["64:ff9b::c633:6404"])
            #expect(try dig(daemon, "both.example.com") == ["2001:db8::5"])
            #expect(Set(vendor.calls.map(\.name)) == ["four.example.com", "both.example.com"])
            #expect(daemon.waitForLog { $0.contains("translates IPv4 addresses by 64:ff9b::/96") })
            #expect(try daemon.status().contains("64:ff9b::/96 stands for IPv4 addresses"))
        }
    }
}
