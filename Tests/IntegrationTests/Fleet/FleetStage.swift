import TestServers

/// Daemons that share answers in one Redis, with one vendor over https, and one LocalDNS.
struct FleetStage {
    static let secret = String(repeating: "5a", count: 32)

    let certificates: TestCertificates
    let vendor: FakeHTTPDNS
    let localDNS: FakeLocalDNS
    private let front: Nginx

    /// - Parameter zone: the vendor's.
    init(_ zone: FakeZone = Self.zone(), localDNS localZone: FakeZone = FakeZone()) throws {
        certificates = try TestCertificates()
        vendor = try FakeHTTPDNS(zone)
        localDNS = try FakeLocalDNS(localZone)
        front = try Nginx(certificates.leaf(addresses: ["127.0.0.1"]), backend: vendor, answersItself: false)
    }

    /// Names of the vendor: `www.example.com`, and all below `many.example.com`.
    static func zone(ttl: UInt32 = 600) -> FakeZone {
        FakeZone([
            "www.example.com": .init(a: ["192.0.2.1"], aaaa: ["2001:db8::1"], ttl: ttl),
            "other.example.com": .init(a: ["192.0.2.9"], aaaa: ["2001:db8::9"], ttl: ttl),
            "*.many.example.com": .init(a: ["192.0.2.2"], aaaa: ["2001:db8::2"], ttl: ttl),
        ])
    }

    func certificate() throws -> (leaf: TestCertificates.Leaf, authority: String) {
        (try certificates.leaf(addresses: ["127.0.0.1"]), certificates.authority)
    }

    /// Starts a daemon.
    ///
    /// - Parameters:
    ///   - url: of the Redis.
    ///   - authority: of the Redis's certificate; nil: the stage's.
    ///   - lines: more lines of `[cache.shared]`; the time-out there is long, for busy machines.
    ///   - encrypted: whether the vendor is asked over https.
    ///   - provider: more lines of the vendor's table.
    ///   - disk: the path of the file of answers; empty: none.
    ///   - control: the path of its control socket.
    ///   - controlLines: more lines of the `[control]` table.
    ///   - log: more lines of the `[log]` table.
    func daemon(
        _ url: String, secret: String = Self.secret, authority: String? = nil, lines: String = "timeout = \"500ms\"",
        provider extra: String = "", disk: String = "", encrypted: Bool = true,
        control: String = "", controlLines: String = "", log: String = ""
    ) throws -> Daemon {
        let provider =
            encrypted
            ? DaemonConfiguration.aliyun(front.url, "ca_file = \"\(certificates.authority)\"\n\(extra)")
            : DaemonConfiguration.aliyun(vendor.url, extra)
        let caFile = url.hasPrefix("rediss") ? "ca_file = \"\(authority ?? certificates.authority)\"" : ""
        let rest = DaemonConfiguration.rest(
            localDNS: localDNS.address, disk: disk, control: control, controlLines: controlLines)
        return try Daemon(
            provider + rest + log + """
                [cache.shared]
                url = "\(url)"
                key = "\(secret)"
                \(caFile)
                \(lines)

                """)
    }
}
