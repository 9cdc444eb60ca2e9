/// Servers that differ in what they show in a TLS handshake, all on the same port of different loopback addresses.
package final class CertificateServers: Sendable {
    /// What a server does.
    package enum Kind: Int, CaseIterable, Sendable {
        /// A certificate of the tests' authority for the name.
        case honest
        /// One for another name.
        case otherName
        /// One for the name that has expired.
        case expired
        /// One for the name that nobody but itself signed.
        case selfSigned
        /// Plain HTTP.
        case plain
        /// Takes connections and says nothing.
        case silent
        /// Takes no connections.
        case refusing
        /// A certificate with no other name than the common name of its subject.
        case commonName
        /// One for the name that is not valid yet.
        case early
        /// One for the name below an expired authority, which did not sign it.
        case forged

        /// Where it listens.
        package var address: String { "127.0.77.\(rawValue + 1)" }

        /// Those whose certificate is wrong.
        package static let liars: [Kind] = [.otherName, .selfSigned, .commonName, .forged]
    }

    /// The name that they should be.
    package static let name = "www.example.com"

    package let port: UInt16
    /// Path of the only authority's certificate.
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
        let port = try FreePort.next(on: Kind.allCases.map(\.address))
        self.port = port
        silent = try TestSocket.listener(TestAddress(Kind.silent.address, port: port))
        let leaves: [(Kind, TestCertificates.Leaf)] = [
            (.honest, try certificates.leaf(names: [Self.name])),
            (.otherName, try certificates.leaf(names: ["liar.example.net"], subject: subject)),
            (.expired, try certificates.expiredLeaf(names: [Self.name])),
            (.selfSigned, try TestCertificates().leaf(names: [Self.name])),
            (.commonName, try certificates.leaf(subject: Self.name)),
            (.early, try certificates.earlyLeaf(names: [Self.name])),
            (.forged, try certificates.forgedLeaf(names: [Self.name])),
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
