public import DNSResolver
public import DNSWire

extension Mode {
    /// Whether protected names need a provider.
    var needsProvider: Bool { self == .httpdnsFirst || self == .httpdnsOnly }
}

extension Configuration {
    /// `[route]`: suffixes are lower-cased and match whole labels; the longest match of all lists wins, at equal length
    /// `forward`, then `bypass`.
    public struct Route: SettingsTable {
        /// What answers protected names, and what is the fallback.
        @Setting("mode", .choice(), shapesAnswers: true) public var mode = Mode.httpdnsFirst
        /// Answered through HTTPDNS, if some provider may. Empty: every such name that nothing else matches.
        @Setting("protect", .suffixes, shapesAnswers: true) public var protect: NameList = []
        /// Answered through LocalDNS.
        @Setting("bypass", .suffixes, shapesAnswers: true) public var bypass: NameList = []
        /// Answered through LocalDNS unless another list names them. Nil: the built-in list.
        @Setting(
            "network_names",
            .auto(or: .suffixes, "or list of suffixes", "list of suffixes", example: "\"lan\""), shapesAnswers: true)
        public var networkNames: NameList?

        /// Whether names of no list are protected: where the file's own `protect` is empty, whatever a signed policy adds
        /// to it or takes from it.
        public var protectsUnlisted = true

        mutating func finish(_ keys: TableKeys) { protectsUnlisted = protect.isEmpty }
    }

    /// One `[[forward]]`: names that given servers answer.
    public struct Forward: SettingsTable {
        /// At least one, none of them in another forward.
        @Setting("suffixes", .suffixes, default: "required", shapesAnswers: true) public var suffixes: NameList = []
        /// Asked in this order; at least one, none of them this server.
        @Setting(
            "servers", .list(of: .server(defaultPort: 53), "list of servers"), default: "required", shapesAnswers: true)
        public var servers: [AddressAndPort] = []

        mutating func finish(_ keys: TableKeys) {
            let needs = [
                ("suffixes", suffixes.isEmpty, "\"cluster.local\""), ("servers", servers.isEmpty, "\"192.0.2.53\""),
            ]
            for (key, isEmpty, example) in needs where isEmpty {
                if keys.isUsable(key) { keys.fail(key, "must hold at least one entry, such as [\(example)]") }
            }
        }
    }
}

extension Configuration {
    /// `[localdns]`.
    public struct LocalDNSSettings: SettingsTable {
        /// The resolvers to ask, in this order. The members of a group know the same names, each group may know others; there is
        /// at least one group, and none is empty. Nil: the first list of the system's files with a server that is not this one.
        @Setting("servers", .localDNSServers, shapesAnswers: true) public var groups: [[AddressAndPort]]?
        /// Absolute.
        @Setting("resolv_conf", .path(), shapesAnswers: true) public var resolvConf = "/etc/resolv.conf"
        /// For one question over all servers, 10 ms to 10 s.
        @Setting("timeout", .duration(in: .milliseconds(10) ... .seconds(10)))
        public var timeout = Duration.milliseconds(1500)
        /// Of answers of these servers and of those of `[[forward]]`; whole seconds up to 7 days, which is as they come.
        @Setting(
            "max_ttl", .duration(in: .seconds(1) ... .seconds(7 * 86_400), wholeSeconds: true), shapesAnswers: true)
        public var maxTTL = Duration.seconds(7 * 86_400)
        /// What is done about addresses that LocalDNS gives for protected names.
        @Setting("certificate_check", .choice(), shapesAnswers: true)
        public var certificateCheck = RaceRules.CertificateCheck.auto
        /// 1 to 65535; never empty.
        @Setting("certificate_ports", .list(of: .integer(in: 1...65535), "list of ports"), shapesAnswers: true)
        public var certificatePorts = [443]
        /// Suffixes whose servers have no TLS: not checked.
        @Setting("unverified", .list(of: .suffix, "list of suffixes"), shapesAnswers: true)
        public var unverified: [Name] = []

        /// Those that are written, of all groups.
        public var servers: [AddressAndPort] { groups?.flatMap(\.self) ?? [] }

        mutating func finish(_ keys: TableKeys) {
            if resolvConf.isEmpty { keys.fail("resolv_conf", "must not be empty") }
            if certificatePorts.isEmpty {
                keys.fail(
                    "certificate_ports",
                    "must hold at least one port; to check nothing, write certificate_check = \"off\"")
            }
        }
    }
}

extension Kind where Value == [[AddressAndPort]]? {
    /// `"auto"`, a list of servers, or a list of such lists.
    static var localDNSServers: Kind {
        .auto(
            or: Kind<[[AddressAndPort]]>.groups, "list of servers, or list of lists of servers", "list of servers",
            example: "\"192.0.2.53\"")
    }
}

extension Kind where Value == [[AddressAndPort]] {
    fileprivate static var groups: Kind {
        Kind(
            type: "list of servers, or list of lists of servers",
            read: { node, path, reading in
                guard let groups = readGroups(node, path, reading) else { return nil }
                guard !groups.isEmpty else {
                    reading.fail(path, "must hold at least one server, or be \"auto\"")
                    return nil
                }
                return groups
            },
            write: { groups in
                groups.count == 1 ? list.write(groups[0]) : "[" + groups.map(list.write).joined(separator: ", ") + "]"
            })
    }

    private static var list: Kind<[AddressAndPort]> { .list(of: .server(defaultPort: 53), "list of servers") }

    /// One group for a list of servers; a group whose variables are all empty is left out.
    private static func readGroups(
        _ node: TOMLNode, _ path: SettingPath, _ reading: Reading
    ) -> [[AddressAndPort]]? {
        guard let nodes = node.list else { return nil }
        let lists = nodes.indices.filter { nodes[$0].list != nil }
        guard !lists.isEmpty else { return list.read(node, path, reading).map { $0.isEmpty ? [] : [$0] } }
        if let server = nodes.indices.first(where: { nodes[$0].list == nil }) {
            reading.fail(
                path.appending(entry: server + 1),
                "must be a list of servers, as entry \(lists[0] + 1) is: [[\"10.8.0.1\"], [\"192.0.2.53\"]]")
            return nil
        }
        let groups = nodes.indices.map { index -> [AddressAndPort]? in
            let path = path.appending(entry: index + 1)
            if nodes[index].list?.isEmpty == true {
                reading.fail(path, "must hold at least one server")
                return nil
            }
            return list.read(nodes[index], path, reading)
        }
        return groups.contains { $0 == nil } ? nil : groups.compactMap { $0 }.filter { !$0.isEmpty }
    }
}

extension Configuration {
    /// `[answers]`.
    public struct AnswerSettings: SettingsTable {
        /// Which address families answers hold.
        @Setting("prefer", .choice()) public var prefer = FamilyPreference.both
        /// Whether the addresses of an answer go out in turn.
        @Setting("rotate", .boolean) public var rotate = true
        /// Whether HTTPS and SVCB questions for protected names get NODATA, unless a provider answers them with
        /// authentication; else they are passed on like any other type.
        @Setting("https_records", .choice(among: [("protect", true), ("forward", false)]), shapesAnswers: true)
        public var guardsServiceBindings = true
        /// Networks whose addresses are dropped from answers for protected names.
        @Setting("bogus", .list(of: .prefix, "list of networks"), shapesAnswers: true)
        public var bogus: [AddressPrefix] = []
        /// Whether addresses of local networks are left out of answers for protected names.
        @Setting("private_addresses", .choice(among: [("keep", false), ("drop", true)]), shapesAnswers: true)
        public var dropsPrivate = false
        /// Suffixes of names that may have private addresses all the same.
        @Setting("private_names", .list(of: .suffix, "list of suffixes"), shapesAnswers: true)
        public var privateNames: [Name] = []
        /// Whether IPv6 addresses are made of the IPv4 addresses of protected names (RFC 6147). Nil: where this machine has no
        /// IPv4, by the prefix that LocalDNS tells.
        @Setting("dns64", .dns64, shapesAnswers: true) public var dns64: Translation?
        /// Whether the name that browsers look up before they ask a resolver of their own does not exist.
        @Setting("hide_canary", .boolean) public var hideCanary = true

        /// The identity of all that decides what answers may hold.
        public var answerIdentity: String { identity }
    }
}

extension Kind where Value == Translation? {
    static var dns64: Kind {
        .text(
            "NAT64 prefix", range: "auto, off, or an IPv6 network of 32, 40, 48, 56, 64 or 96 bits",
            expected: "\"auto\", \"off\" or a prefix in quotes such as \"64:ff9b::/96\"",
            parse: { text throws(ValueProblem) in
                if text == "auto" { return nil }
                if text == "off" { return Translation.none }
                if let prefix = NAT64Prefix(text) { return .prefix(prefix) }
                guard AddressPrefix(text) != nil else {
                    throw ValueProblem("is not \"auto\", \"off\" or a prefix such as \"64:ff9b::/96\"")
                }
                throw ValueProblem(
                    "is no prefix of a NAT64: it has 32, 40, 48, 56, 64 or 96 bits, bits 64 to 71 are zero, and it is in 2000::/3, fc00::/7 or 64:ff9b::/32"
                )
            }, write: { written($0.map { $0 == Translation.none ? "off" : $0.description } ?? "auto") })
    }
}
