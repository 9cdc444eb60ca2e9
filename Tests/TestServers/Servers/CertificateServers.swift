/// Servers that differ in their TLS handshakes, all on the same port of different loopback addresses.
package final class CertificateServers: Sendable {
    /// The kind of a server.
    package enum Kind: Int, CaseIterable, Sendable {
        /// A certificate of the tests' authority for the name.
        case honest
        /// A certificate for another name.
        case otherName
        /// A certificate for the name that has expired.
        case expired
        /// A certificate for the name that is self-signed.
        case selfSigned
        /// Plain HTTP.
        case plain
        /// Accepts connections and sends nothing.
        case silent
        /// Refuses connections.
        case refusing
        /// A certificate with no other name than the common name of its subject.
        case commonName
        /// A certificate for the name that is not valid yet.
        case early
        /// A certificate for the name below an expired authority, which did not sign it.
        case forged

        /// The address on which it listens.
        package var address: String { "127.0.77.\(rawValue + 1)" }

        /// A name of which the server has a certificate, if it has any of a name: `www.example.com` of `commonName`.
        package var name: String { self == .commonName ? CertificateServers.name : "\(self).example.com" }

        /// The kinds whose certificate is wrong.
        package static let forgers: [Kind] = [.otherName, .selfSigned, .commonName, .forged]
    }

    /// The name for which the servers are checked.
    package static let name = "www.example.com"
    /// What the certificates for it are for.
    private static let names = [name, "*.example.com"]

    package let port: UInt16
    /// The path of the certificate of the only authority.
    package var authority: String { certificates.authority }
    private let certificates: TestCertificates
    private let leaves: [TestCertificates.Leaf]
    private let process: NginxProcess
    private let silent: TestSocket

    /// Starts them.
    ///
    /// - Parameter subject: the common name in the certificate for another name.
    package init(subject: String = "leaf") throws {
        let certificates = try TestCertificates()
        self.certificates = certificates
        let (port, sockets) = try FreePort.listeners(on: [Kind.silent.address])
        (self.port, silent) = (port, sockets[0])
        let leaves: [(Kind, TestCertificates.Leaf)] = [
            (.honest, try certificates.leaf(names: Self.names)),
            (.otherName, try certificates.leaf(names: ["hijacker.example.net"], subject: subject)),
            (.expired, try certificates.expiredLeaf(names: Self.names)),
            (.selfSigned, try TestCertificates().leaf(names: Self.names)),
            (.commonName, try certificates.leaf(subject: Self.name)),
            (.early, try certificates.earlyLeaf(names: Self.names)),
            (.forged, try certificates.forgedLeaf(names: Self.names)),
        ]
        self.leaves = leaves.map(\.1)
        let secure = leaves.map { kind, leaf in
            """
            server {
              listen \(kind.address):\(port) ssl;
              ssl_certificate \(leaf.certificate);
              ssl_certificate_key \(leaf.key);
            }
            """
        }
        let plain = "server { listen \(Kind.plain.address):\(port); }"
        process = try NginxProcess((secure + [plain]).joined(separator: "\n"), namespace: nil)
    }
}
