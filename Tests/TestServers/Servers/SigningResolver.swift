import TestSupport

/// A resolver (Unbound) of `SignedZones` on a client host's loopback. It passes signatures on, and checks none.
package final class SigningResolver: Sendable {
    private let zones: SignedZones
    private let leaf: TestCertificates.Leaf?
    private let directory: TemporaryDirectory
    private let process: ChildProcess

    /// The URL of the one that serves DNS over HTTPS.
    package static let url = "https://127.0.0.1:8443/dns-query"

    /// A provider of the zones, by DNS over HTTPS.
    package convenience init(_ zones: SignedZones, _ certificates: TestCertificates, on host: ClientHost) throws {
        let leaf = try certificates.leaf(addresses: ["127.0.0.1"])
        try self.init(
            zones, leaf, host,
            """
                interface: 127.0.0.1@8443
                https-port: 8443
                tls-service-key: "\(leaf.key)"
                tls-service-pem: "\(leaf.certificate)"
            \(Unbound.withoutZones(["home.arpa", "168.192.in-addr.arpa"]))
            """)
    }

    /// A network's own resolver of the zones, UDP and TCP.
    ///
    /// - Parameters:
    ///   - networkZones: zones that it has itself, whatever is delegated; without signatures.
    ///   - hosts: names in those and their addresses, with the reverse names.
    package convenience init(
        _ zones: SignedZones, at address: TestAddress, networkZones: [String],
        hosts: [(name: String, addresses: [String])], on host: ClientHost
    ) throws {
        let records = hosts.flatMap { host in
            host.addresses.flatMap { address in
                let type = address.contains(":") ? "AAAA" : "A"
                return [
                    "local-data: \"\(host.name) 60 \(type) \(address)\"",
                    "local-data-ptr: \"\(address) 60 \(host.name)\"",
                ]
            }
        }
        try self.init(
            zones, nil, host,
            (["interface: \(address.host)@\(address.port)"]
                + networkZones.map { "local-zone: \"\($0)\" static" } + records).joined(separator: "\n"))
    }

    private init(_ zones: SignedZones, _ leaf: TestCertificates.Leaf?, _ host: ClientHost, _ options: String) throws {
        (self.zones, self.leaf) = (zones, leaf)
        directory = try TemporaryDirectory()
        let file = try directory.write(
            """
            server:
                module-config: "iterator"
            \(options)
            \(Unbound.common)
            \(zones.clauses)
            """, to: "unbound.conf")
        process = try ChildProcess(server: host.namespace.prefix + Unbound.command(file), until: Unbound.ready)
    }
}
