import DNSWire

/// Names that mean the same everywhere and are answered locally: forwarding such queries would leak, or return
/// misleading answers (RFC 6761, 6303, 6762, 7686, 7793, 8375, 8880, 9462, 9476, 9665).
enum SpecialUseNames {
    /// How a special-use name is answered.
    enum Rule {
        /// 127.0.0.1 and ::1.
        case loopback
        /// NXDOMAIN; no entry of the lists changes that.
        case alwaysNonexistent
        /// An empty zone: its apex has only an SOA record, and there are no names below it. DS records of the apex are
        /// the parent's.
        case emptyZone
        /// The reverse name of a loopback address.
        case loopbackReverse
        /// The well-known IPv4 addresses by which hosts detect NAT64, and what they translate to (RFC 8880 section 7.1).
        case ipv4Only
        /// The reverse name of one of those (RFC 8880 section 7.2).
        case ipv4OnlyReverse
        /// A name that browsers look up before they ask a resolver of their own: where it does not exist, they keep to the
        /// system's.
        case canary
        /// The name by which clients discover encrypted resolvers: only this server is named there (RFC 9462 section 4).
        case resolverDiscovery

        /// Whether `protect`, `bypass` or `forward` may decide instead.
        var isOverridable: Bool {
            switch self {
            case .loopback, .alwaysNonexistent: false
            case .canary, .emptyZone, .loopbackReverse, .ipv4Only, .ipv4OnlyReverse, .resolverDiscovery: true
            }
        }

        /// Whether hosts detect the prefix of NAT64 by the name.
        var showsTranslator: Bool { self == .ipv4Only || self == .ipv4OnlyReverse }
    }

    /// The rule of the nearest special-use name at or above `name`, and that name.
    ///
    /// A name whose last label is a number is an IPv4 address that a program looks up: there is no such top-level domain.
    static func rule(for name: Name) -> (zone: Name, rule: Rule)? {
        if let nearest = rules.nearest(to: name) { return (nearest.suffix.name, nearest.value) }
        return name.numericTop.map { ($0, .alwaysNonexistent) }
    }

    private static let rules: NameSuffixTable<Rule> = {
        var rules = NameSuffixTable<Rule>()
        func add(_ texts: [String], _ rule: Rule) {
            for text in texts {
                if let name = try? Name(text) { rules.set(rule, for: name) }
            }
        }
        add(["localhost"], .loopback)
        add(["invalid", "onion"], .alwaysNonexistent)
        add(["test", "local", "alt", "home.arpa", "resolver.arpa", "service.arpa"], .emptyZone)
        add(["ipv4only.arpa"], .ipv4Only)
        add(["170", "171"].map { $0 + ".0.0.192.in-addr.arpa" }, .ipv4OnlyReverse)
        add(["_dns.resolver.arpa"], .resolverDiscovery)
        add(["use-application-dns.net"], .canary)
        add(privateReverseZones, .emptyZone)
        add(["1.0.0.127.in-addr.arpa", "1" + String(repeating: ".0", count: 31) + ".ip6.arpa"], .loopbackReverse)
        return rules
    }()

    /// RFC 6303 section 4, RFC 7793.
    private static let privateReverseZones: [String] =
        ["10", "168.192", "0", "127", "254.169", "2.0.192", "100.51.198", "113.0.203", "255.255.255.255"].map {
            $0 + ".in-addr.arpa"
        }
        + (16...31).map { "\($0).172.in-addr.arpa" } + (64...127).map { "\($0).100.in-addr.arpa" }
        + [String(repeating: "0.", count: 32) + "ip6.arpa"]
        + ["d.f", "8.e.f", "9.e.f", "a.e.f", "b.e.f", "8.b.d.0.1.0.0.2"].map { $0 + ".ip6.arpa" }
}

extension Name {
    /// The last label as a name, if it is a number.
    fileprivate var numericTop: Name? {
        var (last, at) = (0, 0)
        while wire[at] != 0 { (last, at) = (at, at + 1 + Int(wire[at])) }
        guard at > last, wire[(last + 1)..<at].allSatisfy({ (0x30...0x39).contains($0) }) else { return nil }
        return try? Name(wire: Array(wire[last...]))
    }
}
