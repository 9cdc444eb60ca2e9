public import DNSWire

/// Names that mean the same everywhere and are answered locally: forwarding such queries would leak, or return
/// misleading answers (RFC 6761, 6303, 6762, 7686, 7793, 8375, 8880, 9462, 9476, 9665).
enum SpecialUseNames {
    /// How a special-use name is answered.
    enum Rule: Equatable {
        /// 127.0.0.1 and ::1.
        case loopback
        /// NXDOMAIN; no entry of the lists changes that.
        case alwaysNonexistent
        /// An empty zone: its apex has only an SOA record, and there are no names below it. DS records of the apex are
        /// the parent's.
        case emptyZone
        /// The reverse name of an address that means the same everywhere, and the name that it has (RFC 8880 section 7.2).
        case reverse(of: Name)
        /// The well-known IPv4 addresses by which hosts detect NAT64, and what they translate to (RFC 8880 section 7.1).
        case ipv4Only
        /// A name that browsers look up before they ask a resolver of their own: where it does not exist, they keep to the
        /// system's.
        case canary
        /// The name by which clients discover encrypted resolvers: only this server is named there (RFC 9462 section 4).
        case resolverDiscovery

        /// Whether `protect`, `bypass` or `forward` may decide instead.
        var isOverridable: Bool {
            switch self {
            case .loopback, .alwaysNonexistent: false
            case .canary, .emptyZone, .reverse, .ipv4Only, .resolverDiscovery: true
            }
        }

        /// Whether hosts detect the prefix of NAT64 by the name.
        var showsTranslator: Bool { self == .ipv4Only || self == .reverse(of: NetworkNames.ipv4Only) }
    }

    /// The rule of the nearest special-use name at or above `name`, and that name.
    ///
    /// A name whose last label is a number is an IPv4 address that a program looks up: there is no such top-level domain.
    static func rule(for name: Name) -> (zone: Name, rule: Rule)? {
        if let nearest = rules.nearest(to: name) { return (nearest.suffix.name, nearest.value) }
        return name.numericTop.map { ($0, .alwaysNonexistent) }
    }

    private static let localhost = (try? Name("localhost")) ?? .root

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
        for name in NetworkNames.translation { rules.set(.reverse(of: NetworkNames.ipv4Only), for: name) }
        rules.set(.ipv4Only, for: NetworkNames.ipv4Only)
        add(["_dns.resolver.arpa"], .resolverDiscovery)
        add(["use-application-dns.net"], .canary)
        add(NetworkNames.privateReverseZones.filter { $0 != "c.f.ip6.arpa" } + otherReverseZones, .emptyZone)
        let loopback = ["1.0.0.127.in-addr.arpa", "1" + String(repeating: ".0", count: 31) + ".ip6.arpa"]
        add(loopback, .reverse(of: localhost))
        return rules
    }()

    /// Those of RFC 6303 section 4 that belong to no network. Of those that do, it and RFC 7793 have all but fc00::/8.
    private static let otherReverseZones =
        ["0", "127", "2.0.192", "100.51.198", "113.0.203", "255.255.255.255"].map { $0 + ".in-addr.arpa" }
        + [String(repeating: "0.", count: 32) + "ip6.arpa", "8.b.d.0.1.0.0.2.ip6.arpa"]
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

/// How this server is reached encrypted, for clients that have its address alone: the answer to SVCB questions for
/// `_dns.resolver.arpa` (RFC 9462 section 4, RFC 9461).
///
/// A client uses it only after the certificate there was verified for the address that it knows.
public struct DesignatedResolver: Sendable {
    /// The usual ports: only others are named.
    private static let ports: (tls: UInt16, https: UInt16) = (853, 443)
    /// Hints of one family; more would only make the answer longer.
    private static let mostHints = 4

    private static let owner = (try? Name("_dns.resolver.arpa")) ?? .root

    /// A name of the certificate, never the root: it would stand for the owner's own name, which has no addresses.
    private let name: Name
    private let addresses: [IPAddress]
    /// The port of DNS over TLS; nil: there is none.
    private let tls: UInt16?
    /// Port and path of DNS over HTTPS; nil: there is none.
    private let https: (port: UInt16, path: String)?

    /// Nil without an encrypted listener.
    public init?(name: Name, addresses: [IPAddress], tls: UInt16?, https: (port: UInt16, path: String)?) {
        guard tls != nil || https != nil, !name.isRoot else { return nil }
        (self.name, self.addresses, self.tls, self.https) = (name, addresses, tls, https)
    }

    /// DNS over HTTPS first: it passes where port 853 is closed. The TTL is in seconds.
    public func records(ttl: UInt32) -> [Record] {
        var bindings: [[UInt16: [UInt8]]] = []
        if let https {
            var parameters = parameters("h2", https.port, usual: Self.ports.https)
            parameters[ServiceBinding.Key.path] = Array("\(https.path){?dns}".utf8)
            bindings.append(parameters)
        }
        if let tls { bindings.append(parameters("dot", tls, usual: Self.ports.tls)) }
        return bindings.enumerated().map { index, parameters in
            let binding = ServiceBinding(
                priority: UInt16(truncatingIfNeeded: index + 1), target: name, parameters: parameters)
            return Record(name: Self.owner, type: .svcb, ttl: ttl, rdata: binding.rdata)
        }
    }

    private func parameters(_ protocolID: String, _ port: UInt16, usual: UInt16) -> [UInt16: [UInt8]] {
        var values = [ServiceBinding.Key.alpn: [UInt8(truncatingIfNeeded: protocolID.utf8.count)] + protocolID.utf8]
        if port != usual { values[ServiceBinding.Key.port] = [UInt8(port >> 8), UInt8(truncatingIfNeeded: port)] }
        for (key, type) in [(ServiceBinding.Key.ipv4Hint, RecordType.a), (ServiceBinding.Key.ipv6Hint, .aaaa)] {
            let hints = addresses.filter { $0.recordType == type }.prefix(Self.mostHints)
            if !hints.isEmpty { values[key] = hints.flatMap(\.bytes) }
        }
        return values
    }
}

/// Loop detection: queries for names that exist nowhere else, sent to a server to detect whether they are forwarded
/// back.
///
/// The first label is 128 random bits, so that a query for it on this server's listeners must originate here. It stands
/// below `zone` or below the suffix for which the server is asked. `invalid` and `test` would not do: resolvers answer
/// them themselves, and a loop for all other names would stay undetected.
@Loop
public final class LoopProbes {
    /// The zone in which a resolver of the network is probed. `internal` is never delegated (ICANN, July 2024), and
    /// resolvers forward it like any other domain.
    public nonisolated static let zone = (try? Name("loop.httpdnsd.internal")) ?? .root

    /// The length of the first label: 32 hexadecimal digits.
    private nonisolated static let labelLength = 32

    /// The probes under way and their callbacks; one name for each server.
    private var open: [Name: @Loop () -> Void] = [:]

    public nonisolated init() {}

    /// A new name below `suffix`; nil: too long. `onSeen` is called each time it is asked here, until `close`.
    public func open(below suffix: Name, onSeen: @escaping @Loop () -> Void) -> Name? {
        let digits = String(UInt128.random(in: .min ... .max), radix: 16)
        let label = String(repeating: "0", count: Self.labelLength - digits.utf8.count) + digits
        guard let name = try? suffix.prepending(label: label.utf8) else { return nil }
        open[name] = onSeen
        return name
    }

    /// Ends a probe.
    public func close(_ name: Name) { open[name] = nil }

    /// Whether a query received here is for one of these names; if so, its callback is called.
    func received(_ name: Name) -> Bool {
        guard name.wire.first == UInt8(Self.labelLength), let onSeen = open[name] else { return false }
        onSeen()
        return true
    }
}
