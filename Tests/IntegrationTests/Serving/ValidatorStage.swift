import TestServers
import Testing

/// The daemon between validators and a provider of signed zones (`SignedZones`), with or without LocalDNS.
struct ValidatorStage {
    /// LocalDNS by how it treats DNSSEC.
    enum LocalDNS: Sendable {
        /// As home routers are: it answers without signatures, and denies what it does not know.
        case plain
        /// It passes signatures on.
        case signing
        /// There is none.
        case absent
    }

    /// The servers in front that validate.
    enum Validator: CaseIterable {
        case unbound, dnsmasq

        /// Starts it.
        ///
        /// - Parameter exempt: suffixes that it is not to validate.
        fileprivate func start(on stage: ValidatorStage, exempt: [String]) throws -> ResolverProgram {
            switch self {
            case .unbound:
                try .unbound(
                    on: stage.host, trustAnchor: stage.zones.trustAnchor,
                    options: Unbound.withoutZones(ValidatorStage.networkZones) + "\n"
                        + exempt.map { "domain-insecure: \"\($0)\"" }.joined(separator: "\n"))
            case .dnsmasq:
                try .dnsmasq(
                    on: stage.host, trustAnchor: stage.zones.trustAnchor,
                    options: exempt.map { "--server=/\($0)/127.0.0.1#53" })
            }
        }
    }

    /// A question, and what validators make of it.
    struct Case: Sendable {
        let name: String
        let type: UInt16
        let verdict: String

        init(_ name: String, _ type: UInt16 = RecordType.a, is verdict: String) {
            (self.name, self.type, self.verdict) = (name, type, verdict)
        }
    }

    /// Zones that networks have themselves.
    static let networkZones = ["fritz.box", "corp.example", "home.arpa", "168.192.in-addr.arpa"]
    /// Names in them.
    private static let networkHosts: [(name: String, addresses: [String])] = [
        ("nas.fritz.box", ["10.0.0.1"]), ("git.corp.example", ["10.0.0.2"]), ("nas.home.arpa", ["192.168.1.1"]),
        ("nas.lan", ["10.0.0.4"]),
    ]
    /// The address of a company's server, which has the network's zones too, and no signatures.
    static let company = TestAddress("127.0.0.4", port: 53)
    private static let localDNSAddress = TestAddress("127.0.0.3", port: 53)

    let host: ClientHost
    let zones: SignedZones
    private let certificates: TestCertificates
    private let servers: [any Sendable]

    /// Starts all but the daemon and the validators.
    init(_ localDNS: LocalDNS) throws {
        (host, zones, certificates) = (try ClientHost(), try SignedZones(), try TestCertificates())
        var servers: [any Sendable] = [
            try SigningResolver(zones, certificates, on: host),
            try ResolverProgram.network(at: Self.company, hosts: Self.networkHosts, namespace: host.namespace),
        ]
        switch localDNS {
        case .plain:
            let unsigned = [("www.signed.example", ["192.0.2.1"]), ("www.plain.example", ["192.0.2.4"])]
            servers.append(
                try ResolverProgram.network(
                    at: Self.localDNSAddress, hosts: Self.networkHosts + unsigned, namespace: host.namespace))
        case .signing:
            servers.append(
                try SigningResolver(
                    zones, at: Self.localDNSAddress, networkZones: Self.networkZones, hosts: Self.networkHosts,
                    on: host))
        case .absent: break
        }
        self.servers = servers
    }

    /// The provider of the zones.
    func provider() -> String {
        """
        [[provider]]
        type = "doh"
        name = "signed"
        url = "\(SigningResolver.url)"
        ca_file = "\(certificates.authority)"

        """
    }

    /// Starts the daemon.
    ///
    /// - Parameters:
    ///   - providers: its `[[provider]]` tables.
    ///   - route: its `[route]` table.
    func daemon(_ providers: String, route: String = "") throws -> Daemon {
        try Daemon(
            providers + route + DaemonConfiguration.rest(localDNS: Self.localDNSAddress), port: 53,
            namespace: host.namespace)
    }

    /// Asks a new validator, and compares what it makes of each case.
    ///
    /// A verdict is SERVFAIL, or `secure` or `insecure` by the AD bit, and NXDOMAIN, addresses, or how many records.
    ///
    /// - Parameter exempt: suffixes that it is not to validate.
    func check(_ cases: [Case], at validator: Validator, exempt: [String] = []) throws {
        let server = try validator.start(on: self, exempt: exempt)
        let queries = cases.map { TestMessage.query($0.name, $0.type, edns: EDNS(flags: 0x8000)) }
        let client = try BulkClient(server.address, window: 8, namespace: host.namespace)
        for (expected, lookup) in try zip(cases, client.send(queries)) {
            var reply = try #require(lookup.reply, "\(validator): \(expected.name)")
            if reply.isTruncated {
                reply = try host.namespace.inside { try TestTCPClient(server.address) }
                    .ask(.query(expected.name, expected.type, edns: EDNS(flags: 0x8000)))
            }
            let verdict = Self.verdict(reply, expected.type)
            #expect(verdict == expected.verdict, "\(validator): \(expected.name), type \(expected.type)")
        }
    }

    private static func verdict(_ reply: TestMessage, _ type: UInt16) -> String {
        let security = reply.isAuthenticated ? "secure" : "insecure"
        let count = reply.answers.count { $0.type == type }
        switch reply.rcode {
        case ResponseCode.noError:
            return ([security] + (reply.addresses.isEmpty ? ["\(count)"] : reply.addresses)).joined(separator: " ")
        case ResponseCode.nxDomain: return security + " NXDOMAIN"
        case ResponseCode.servFail: return "SERVFAIL"
        default: return "RCODE \(reply.rcode)"
        }
    }
}
