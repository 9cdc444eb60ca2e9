import TestServers
import TestSupport
import Testing

/// Certificates of kinds that x509-limbo has none of, judged by both ways that this program verifies a server, and by the
/// `openssl` command, which is the reference. Not on the loop: making certificates blocks the thread.
@Suite(.serialized, .timeLimit(.minutes(10)))
struct CertificateMatrixTests {
    private static let host = "www.example.com"
    private static let curve = ["ec", "-pkeyopt", "ec_paramgen_curve:prime256v1"]
    private let directory: TemporaryDirectory

    init() throws { directory = try TemporaryDirectory() }

    private func path(_ file: String) -> String { "\(directory.path)/\(file)" }

    private func make(_ file: String, _ extensions: [String], digest: String, by issuer: String? = nil) throws {
        let configuration = try directory.write(
            "[req]\ndistinguished_name = dn\nx509_extensions = ext\n[dn]\n[ext]\n"
                + extensions.map { $0 + "\n" }.joined(), to: "\(file).conf")
        let signing = issuer.map { ["-CA", path("\($0).pem"), "-CAkey", path("\($0).key")] } ?? []
        try ChildProcess.succeed(
            ["openssl", "req", "-x509", "-config", configuration, "-nodes", "-days", "2", "-\(digest)", "-newkey"]
                + Self.curve + ["-subj", "/CN=\(file)", "-keyout", path("\(file).key"), "-out", path("\(file).pem")]
                + signing)
    }

    @Test(
        arguments: [
            ("capital letters", "DNS:WWW.EXAMPLE.COM", "sha256", nil),
            ("final dot", "DNS:www.example.com.", "sha256", nil),
            // A name of 25 bytes: www.example.com, 0, .evil.net.
            ("zero byte", "DER:301b82197777772e6578616d706c652e636f6d002e6576696c2e6e6574", "sha256", nil),
            ("signed with SHA-1", "DNS:www.example.com", "sha1", "the security level of TLS in Debian"),
        ] as [(String, String, String, String?)])
    func `a certificate is accepted where openssl accepts it, or refused for a reason of its own`(
        kind: String, names: String, digest: String, stricter: String?
    ) async throws {
        try make("root", ["basicConstraints = critical,CA:TRUE"], digest: "sha256")
        try make("leaf", ["subjectAltName = \(names)", "basicConstraints = CA:FALSE"], digest: digest, by: "root")
        let certificate = MadeCertificate(authority: path("root.pem"), chain: path("leaf.pem"), key: path("leaf.key"))
        let reference = try certificate.isAccepted(as: Self.host)
        for (way, isAccepted) in try await certificate.verdicts(as: Self.host) {
            #expect(isAccepted == (reference && stricter == nil), "\(kind), \(way)")
        }
    }
}
