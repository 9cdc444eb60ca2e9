import TestSupport

/// A DoH server (Unbound) with one signed zone, `signed.example`, on port 8443 of a client host's loopback.
///
/// `www.signed.example` has `addresses`; `forged.signed.example` has an address that does not match its signature.
package final class SignedZone: Sendable {
    package static let addresses = ["192.0.2.1", "2001:db8::1"]
    /// Its URL for DNS over HTTPS.
    package let url = "https://127.0.0.1:8443/dns-query"
    /// The zone's DS record, for validators.
    package let trustAnchor: String
    private let leaf: TestCertificates.Leaf
    private let directory: TemporaryDirectory
    private let process: ChildProcess

    /// Signs the zone, and serves it.
    package init(_ certificates: TestCertificates, on host: ClientHost) throws {
        directory = try TemporaryDirectory()
        let leaf = try certificates.leaf(addresses: ["127.0.0.1"])
        self.leaf = leaf
        try directory.write(
            """
            $ORIGIN signed.example.
            $TTL 60
            @ SOA ns admin 1 7200 3600 1209600 60
            @ NS ns
            ns A 192.0.2.53
            www A \(Self.addresses[0])
            www AAAA \(Self.addresses[1])
            forged A 192.0.2.9

            """, to: "zone")
        let key = try ChildProcess.succeed(
            ["ldns-keygen", "-a", "ECDSAP256SHA256", "-k", "signed.example"], directory: directory.path
        ).prefix { $0 != "\n" }
        try ChildProcess.succeed(["ldns-signzone", "-f", "signed", "zone", String(key)], directory: directory.path)
        trustAnchor = String(directory.read("\(key).ds").prefix { $0 != "\n" }).replacing("\t", with: " ")
        // After signing, so that the signature is for the former address.
        let forged = directory.read("signed").replacing("192.0.2.9", with: "192.0.2.66")
        try directory.write(forged, to: "signed")
        let file = try directory.write(
            """
            server:
                interface: 127.0.0.1@8443
                https-port: 8443
                tls-service-key: "\(leaf.key)"
                tls-service-pem: "\(leaf.certificate)"
                module-config: "iterator"
            \(Unbound.common)
            auth-zone:
                name: "signed.example"
                zonefile: "\(directory.path)/signed"
                for-downstream: yes
                for-upstream: no
            """, to: "unbound.conf")
        process = try ChildProcess(host.namespace.prefix + Unbound.command(file))
        guard process.waitForOutput(.patience, { $1.contains("start of service") }) else {
            throw TestFailure("unbound did not start: \(process.errors)")
        }
    }
}
