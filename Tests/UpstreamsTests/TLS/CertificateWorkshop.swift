import TestServers
import TestSupport

/// A server's certificate of the matrix, and the name or address for which it is verified.
struct CertificateKind {
    /// The authority that signs it.
    enum Issuer: String {
        case root
        /// Signed by the root.
        case intermediate
        /// Signed by the root, but no authority.
        case noAuthority
        /// Below an intermediate that may have none below it.
        case tooDeep
        /// Signed by the root, for names below example.com, and for names below example.net.
        case constrained, constrainedElsewhere
        /// Of which the client does not know.
        case stranger

        /// The authorities that a server presents with a certificate of this one, from this one upwards.
        var chain: [String] {
            switch self {
            case .root, .stranger: []
            case .tooDeep: [rawValue, "upper"]
            default: [rawValue]
            }
        }
    }

    let id: String
    var host = "www.example.com"
    /// Lines of OpenSSL's configuration.
    var extensions = [CertificateKind.alternatives("DNS:www.example.com")]
    var subject = "leaf"
    /// Nil: the certificate signs itself.
    var issuer: Issuer? = .root
    var digest = "sha256"
    /// Arguments of the command behind `-newkey`.
    var key = CertificateWorkshop.plainKey

    static func alternatives(_ text: String) -> String { "subjectAltName = \(text)" }
}

/// Authorities of many kinds, and the certificates that they sign, made by the `openssl` command.
final class CertificateWorkshop {
    static let plainKey = ["ec", "-pkeyopt", "ec_paramgen_curve:prime256v1"]
    private static let authority = "basicConstraints = critical,CA:TRUE"

    private let directory: TemporaryDirectory
    private var made = 0

    init() throws {
        directory = try TemporaryDirectory()
        for (file, issuer, extensions) in [
            ("root", nil, [Self.authority]), ("stranger", nil, [Self.authority]),
            ("intermediate", "root", [Self.authority]),
            ("noAuthority", "root", ["basicConstraints = critical,CA:FALSE"]),
            ("upper", "root", [Self.authority + ",pathlen:0"]), ("tooDeep", "upper", [Self.authority]),
            ("constrained", "root", [Self.authority, "nameConstraints = permitted;DNS:example.com"]),
            ("constrainedElsewhere", "root", [Self.authority, "nameConstraints = permitted;DNS:example.net"]),
        ] as [(String, String?, [String])] {
            try make(file, extensions, by: issuer, subject: file, digest: "sha256", key: Self.plainKey)
        }
    }

    func make(_ kind: CertificateKind) throws -> MadeCertificate {
        made += 1
        let file = "leaf-\(made)"
        try make(
            file, kind.extensions + ["basicConstraints = CA:FALSE"], by: kind.issuer?.rawValue, subject: kind.subject,
            digest: kind.digest, key: kind.key)
        let certificates = ([file] + (kind.issuer?.chain ?? [])).map { directory.read("\($0).pem") }
        return MadeCertificate(
            authority: path("root.pem"), chain: try directory.write(certificates.joined(), to: "\(file).chain"),
            key: path("\(file).key"))
    }

    private func path(_ file: String) -> String { "\(directory.path)/\(file)" }

    private func make(
        _ file: String, _ extensions: [String], by issuer: String?, subject: String, digest: String, key: [String]
    ) throws {
        let configuration = try directory.write(
            "[req]\ndistinguished_name = dn\nx509_extensions = ext\n[dn]\n[ext]\n"
                + extensions.map { $0 + "\n" }.joined(), to: "\(file).conf")
        let signing = issuer.map { ["-CA", path("\($0).pem"), "-CAkey", path("\($0).key")] } ?? []
        try ChildProcess.succeed(
            ["openssl", "req", "-x509", "-config", configuration, "-nodes", "-days", "2", "-\(digest)", "-newkey"] + key
                + ["-subj", "/CN=\(subject)", "-keyout", path("\(file).key"), "-out", path("\(file).pem")] + signing)
    }
}
