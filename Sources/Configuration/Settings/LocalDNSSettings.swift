package import DNSWire

/// Which resolvers of the network are asked.
package enum LocalDNSSelection: Hashable, Sendable {
    /// The first list of the system's files that holds a server other than this one.
    case auto
    /// Asked in this order; never empty.
    case list([AddressAndPort])
}

/// What is done about addresses that LocalDNS gives for protected names.
package enum CertificateStrictness: String, Hashable, Sendable, CaseIterable {
    /// Strict for names listed explicitly, lenient for the rest.
    case auto
    case strict, lenient, off
}

extension Configuration {
    /// `[localdns]`.
    package struct LocalDNSSettings: SettingsTable {
        package var servers = LocalDNSSelection.auto
        /// Absolute.
        package var resolvConf = "/etc/resolv.conf"
        /// For one question over all servers, 10 ms to 10 s.
        package var timeout = Duration.milliseconds(1500)
        package var certificateCheck = CertificateStrictness.auto
        /// 1 to 65535; never empty.
        package var certificatePorts = [443]
        /// Suffixes whose servers have no TLS: not checked.
        package var unverified: [Name] = []

        package init() {}

        static let settings: [Setting<LocalDNSSettings>] = [
            Setting(
                "servers", \.servers, .localDNSServers,
                shapesAnswers: true,
                "The resolvers to ask; auto takes the first list of the system with a server that is not this one."),
            Setting("resolv_conf", \.resolvConf, .path(), shapesAnswers: true, "The last file that auto looks into."),
            Setting(
                "timeout", \.timeout, .duration(in: .milliseconds(10) ... .seconds(10)),
                shapesAnswers: false, "How long one question may take, over all servers that are asked."),
            Setting(
                "certificate_check", \.certificateCheck, .choice(),
                shapesAnswers: true, "How addresses from LocalDNS are checked for protected names."),
            Setting(
                "certificate_ports", \.certificatePorts, .list(of: .integer(in: 1...65535), "list of ports"),
                shapesAnswers: true, "Ports on which the check tries a TLS handshake."),
            Setting(
                "unverified", \.unverified, .list(of: .suffix, "list of suffixes"),
                shapesAnswers: true, "Names whose servers have no TLS: taken as they are."),
        ]

        mutating func finish(at path: SettingPath, _ reading: Reading) {
            if resolvConf.isEmpty { reading.fail(path.appending(key: "resolv_conf"), "must not be empty") }
            if certificatePorts.isEmpty {
                reading.fail(
                    path.appending(key: "certificate_ports"),
                    "must hold at least one port; to check nothing, write certificate_check = \"off\"")
            }
        }
    }
}

extension Kind where Value == LocalDNSSelection {
    /// `"auto"` or a list of servers.
    static var localDNSServers: Kind {
        let list = Kind<[AddressAndPort]>.list(of: .server(defaultPort: 53), "list of servers")
        return Kind(
            type: "auto, or list of servers",
            read: { node, path, reading in
                guard case .array = node.value else {
                    guard let text = reading.text(node, path, expected: "\"auto\" or a list of servers") else {
                        return nil
                    }
                    if text.value == "auto" { return .auto }
                    reading.fail(path, "must be \"auto\" or a list in brackets such as [\"192.0.2.53\"]")
                    return nil
                }
                guard let servers = list.read(node, path, reading) else { return nil }
                guard !servers.isEmpty else {
                    reading.fail(path, "must hold at least one server, or be \"auto\"")
                    return nil
                }
                return .list(servers)
            },
            write: { servers in
                switch servers {
                case .auto: "\"auto\""
                case .list(let endpoints): list.write(endpoints)
                }
            })
    }
}
