package import DNSWire

/// Names of the local network: LocalDNS is asked for them, and never a provider.
///
/// Home and company networks name their hosts below these suffixes, and the reverse names of private addresses are
/// meaningful only in the network where the addresses are in use.
package enum NetworkNames {
    /// The list unless `[route] network_names` replaces it.
    package static let builtIn = NameList((suffixes + privateReverseZones).compactMap { try? Name($0) })

    /// The domain of multicast DNS (RFC 6762). Below it only domains of the system's search list belong to the network.
    static let multicast = (try? Name("local")) ?? .root

    /// In use without delegation (RFC 6762 appendix G; `internal` is reserved for this), for homes (RFC 8375), by common
    /// brands of home routers, in clusters and containers; and services that hosts look for in a domain without a name.
    private static let suffixes = [
        "lan", "home", "internal", "intranet", "private", "corp", "localdomain", "localnet", "workgroup", "home.arpa",
        "fritz.box", "dlinkrouter", "docker", "consul", "svc", "_tcp", "_udp", "_msdcs",
    ]

    /// Queried by hosts to detect the prefix by which their network translates IPv4 addresses (RFC 7050): only the
    /// network's own resolver knows it (RFC 8880). No list replaces them.
    package static let translation =
        (["ipv4only.arpa"] + ["170", "171"].map { $0 + ".0.0.192.in-addr.arpa" }).compactMap { try? Name($0) }

    /// Reverse zones of RFC 1918, RFC 3927 (169.254.0.0/16), RFC 6598 (100.64.0.0/10), RFC 4193 (fc00::/7) and RFC 4291
    /// (fe80::/10).
    private static let privateReverseZones =
        (["10", "168.192", "254.169"] + (16...31).map { "\($0).172" } + (64...127).map { "\($0).100" })
        .map { $0 + ".in-addr.arpa" } + ["c.f", "d.f", "8.e.f", "9.e.f", "a.e.f", "b.e.f"].map { $0 + ".ip6.arpa" }
}

/// The names by which systems detect a captive portal.
///
/// A portal answers these names with forged addresses, so LocalDNS is asked for them. They have no other use: a name
/// that serves anything else, such as `www.google.com` or `www.apple.com`, is not among them.
enum PortalChecks {
    /// The most seconds for which an answer is used: after the user has logged in, the network gives another one.
    static let lifetime: UInt32 = 10

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
