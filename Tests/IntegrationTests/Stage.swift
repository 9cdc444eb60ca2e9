import TestServers

/// A daemon between one fake vendor and one fake LocalDNS: the set-up of most tests.
struct Stage {
    /// The protocol between the daemon and the vendor.
    enum Form {
        case aliyun, doh
    }

    let vendor: FakeHTTPDNS
    let localDNS: FakeLocalDNS
    let daemon: Daemon

    /// The vendor's zone unless a test gives another one.
    static let zone = FakeZone([
        "www.example.com": .init(a: ["192.0.2.1", "192.0.2.2"], aaaa: ["2001:db8::1"], ttl: 60),
        "four.example.com": .init(a: ["192.0.2.4"], ttl: 60),
    ])

    /// Starts all three.
    ///
    /// - Parameters:
    ///   - zone: the vendor's zone.
    ///   - localZone: LocalDNS's zone.
    ///   - provider: more lines of the provider's table.
    ///   - route: the `[route]` table.
    ///   - extra: more tables.
    ///   - host: where all three run, the daemon on port 53; nil: on the tests' own loopback interface.
    ///   - resolvConf: the file from which the daemon takes the search list; nil: the system's.
    ///   - listen: more lines of the `[listen]` table.
    init(
        _ form: Form = .aliyun, _ zone: FakeZone = Stage.zone, localDNS localZone: FakeZone = FakeZone(),
        secret: String = "", provider: String = "", route: String = "", extra: String = "",
        on hosts: [String] = ["127.0.0.1"], listen: String = "", inside host: ClientHost? = nil,
        resolvConf: String? = nil
    ) throws {
        let start = {
            (try FakeHTTPDNS(zone, secret: secret.isEmpty ? nil : secret), try FakeLocalDNS(localZone))
        }
        (vendor, localDNS) = try host.map { try $0.namespace.inside(start) } ?? start()
        let table =
            switch form {
            case .aliyun: DaemonConfiguration.aliyun(vendor.url, secret: secret, provider)
            case .doh: DaemonConfiguration.doh(vendor.url, provider)
            }
        daemon = try Daemon(
            table + route + DaemonConfiguration.rest(localDNS: localDNS.address, resolvConf: resolvConf) + extra,
            on: hosts,
            port: host.map { _ in 53 }, listen: listen, namespace: host?.namespace)
    }

    /// Asks the daemon over UDP, with an OPT record.
    func ask(_ name: String, _ type: UInt16 = RecordType.a) throws -> TestMessage {
        try daemon.client().ask(name, type)
    }
}
