public import DNSWire

/// The source to which the routing lists send a name.
public enum Route: Hashable, Sendable {
    /// HTTPDNS; `explicit` when `protect` lists the name or a parent of it.
    case protect(explicit: Bool)
    /// LocalDNS.
    case bypass
    /// LocalDNS, and HTTPDNS when it does not answer: one of `PortalChecks`.
    case portal
    /// The servers of `[[forward]]` entry `index`, counted from 0.
    case forward(index: Int)

    /// The tag of `portal`: no `[[forward]]` entry has it.
    private static let portalTag = UInt16.max - 1

    /// The number that stands for the route in cache entries.
    public var tag: UInt16 {
        switch self {
        case .protect(explicit: false): 0
        case .protect(explicit: true): 1
        case .bypass: 2
        case .portal: Self.portalTag
        case .forward(let index): 3 &+ UInt16(truncatingIfNeeded: index)
        }
    }

    /// The route with this number.
    public init(tag: UInt16) {
        self =
            switch tag {
            case 0: .protect(explicit: false)
            case 1: .protect(explicit: true)
            case 2: .bypass
            case Self.portalTag: .portal
            default: .forward(index: Int(tag) - 3)
            }
    }
}

extension Route: CustomStringConvertible {
    /// `protect`, `bypass`, `portal`, or the `[[forward]]` entry as `forward[1]`, counted from 1 as in messages on the
    /// configuration.
    public var description: String {
        switch self {
        case .protect: "protect"
        case .bypass: "bypass"
        case .portal: "portal"
        case .forward(let index): "forward[\(index + 1)]"
        }
    }
}

/// The order of the sources: as set by `[route] mode`, or as changed by the switch.
///
/// The raw values distinguish policies on disk.
public enum Mode: String, CaseIterable, Sendable {
    /// HTTPDNS, with LocalDNS as fallback. The default.
    case httpdnsFirst = "httpdns-first"
    /// LocalDNS where certificates verify its addresses, else HTTPDNS.
    case localDNSFirst = "localdns-first"
    /// HTTPDNS only, for protected names.
    case httpdnsOnly = "httpdns-only"
    /// LocalDNS for every name that no `forward` entry matches.
    case localDNSOnly = "localdns-only"
}

/// The entry of a list, or of the static addresses, that decides about a name.
public enum RoutingRule: Hashable, Sendable {
    case protect(Name)
    case bypass(Name)
    /// Of the `[[forward]]` entry `index`, counted from 0.
    case forward(index: Int, Name)
    /// One of the names of a provider.
    case provider(Name)
    /// One of the network's names.
    case network(Name)
    /// Static addresses; of a wildcard the part after `*.`.
    case preset(Name, isWildcard: Bool)
}

/// Names of the local network: LocalDNS is asked for them, and never a provider.
///
/// Home and company networks name their hosts below these suffixes, and the reverse names of private addresses are
/// meaningful only in the network where the addresses are in use.
public enum NetworkNames {
    /// The list unless `[route] network_names` replaces it.
    public static let builtIn = NameList((suffixes + privateReverseZones).compactMap { try? Name($0) })

    /// The domain of multicast DNS (RFC 6762). Below it only domains of the system's search list belong to the network.
    static let multicast = (try? Name("local")) ?? .root

    /// In use without delegation (RFC 6762 appendix G; `internal` is reserved for this), for homes (RFC 8375), by common
    /// brands of home routers, in clusters and containers; and services that hosts look for in a domain without a name.
    private static let suffixes = [
        "lan", "home", "internal", "intranet", "private", "corp", "localdomain", "localnet", "workgroup", "home.arpa",
        "fritz.box", "dlinkrouter", "docker", "consul", "svc", "_tcp", "_udp", "_msdcs",
    ]

    /// The name whose addresses show the prefix by which a network translates IPv4 addresses (RFC 7050).
    public static let ipv4Only = (try? Name("ipv4only.arpa")) ?? .root

    /// Queried by hosts to detect that prefix, with the names of its addresses: only the network's own resolver knows it (RFC
    /// 8880). No list replaces them.
    public static let translation =
        [ipv4Only] + ["170", "171"].compactMap { try? Name($0 + ".0.0.192.in-addr.arpa") }

    /// Reverse zones of RFC 1918, RFC 3927 (169.254.0.0/16), RFC 6598 (100.64.0.0/10), RFC 4193 (fc00::/7) and RFC 4291
    /// (fe80::/10).
    static let privateReverseZones =
        (["10", "168.192", "254.169"] + (16...31).map { "\($0).172" } + (64...127).map { "\($0).100" })
        .map { $0 + ".in-addr.arpa" } + ["c.f", "d.f", "8.e.f", "9.e.f", "a.e.f", "b.e.f"].map { $0 + ".ip6.arpa" }
}

/// The names by which systems detect a captive portal.
///
/// A portal answers these names with forged addresses, so LocalDNS is asked for them. They have no other use: a name
/// that serves anything else, such as `www.google.com` or `www.apple.com`, is not among them.
enum PortalChecks {
    static let names: [Name] = [
        // Android and ChromeOS.
        "connectivitycheck.gstatic.com", "connectivitycheck.android.com", "clients3.google.com",
        "connectivitycheck.grapheneos.network",
        // Android of vendors in China.
        "connect.rom.miui.com", "connectivitycheck.platform.hicloud.com", "connectivitycheck.platform.hihonorcloud.com",
        "wifi.vivo.com.cn", "conn1.oppomobile.com", "conn2.oppomobile.com", "conn1.coloros.com", "conn2.coloros.com",
        // Apple.
        "captive.apple.com",
        // Windows and Edge.
        "www.msftconnecttest.com", "ipv6.msftconnecttest.com", "www.msftncsi.com", "ipv6.msftncsi.com",
        "dns.msftncsi.com",
        "edge-http.microsoft.com",
        // Firefox.
        "detectportal.firefox.com",
        // NetworkManager and Linux desktops.
        "nmcheck.gnome.org", "networkcheck.kde.org", "connectivity-check.ubuntu.com", "network-test.debian.org",
        "ping.archlinux.org", "conncheck.opensuse.org",
    ].compactMap { try? Name($0) }
}
