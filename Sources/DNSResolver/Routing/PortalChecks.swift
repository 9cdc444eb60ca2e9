import DNSWire

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
