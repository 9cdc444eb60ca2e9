import DNSResolver
import DNSWire
import Platform
import Scheduling
import TestServers
import Testing

@testable import Upstreams

/// Certificates of many kinds, judged by both ways that this program verifies a server, and by the `openssl` command,
/// which is the reference. Not on the loop: making certificates blocks the thread.
@Suite(.serialized, .timeLimit(.minutes(10)))
struct CertificateMatrixTests {
    private static func alternatives(_ text: String) -> String { CertificateKind.alternatives(text) }

    /// What this program refuses and the command accepts, and why. There is nothing that only this program accepts.
    private static let stricter: [String: String] = [
        "name only in the subject": "RFC 9525 section 2: the subject's common name is ignored",
        "part of a label by wildcard": "RFC 9525 section 6.3: a wildcard stands for a whole label",
        "RSA of 1,024 bits": "the security level of TLS in Debian",
        "signed with SHA-1": "the security level of TLS in Debian",
    ]

    private static let cases: [CertificateKind] =
        [
            CertificateKind(id: "ordinary"),
            CertificateKind(id: "capital letters in the name", host: "WWW.Example.COM"),
            CertificateKind(
                id: "capital letters in the certificate", extensions: [alternatives("DNS:WWW.EXAMPLE.COM")]),
            CertificateKind(id: "another name", host: "www.example.net"),
            CertificateKind(id: "a name above", host: "example.com"),
            CertificateKind(id: "final dot in the name", host: "www.example.com."),
            CertificateKind(id: "final dot in the certificate", extensions: [alternatives("DNS:www.example.com.")]),
            CertificateKind(id: "name only in the subject", extensions: [], subject: "www.example.com"),
            CertificateKind(
                id: "name in the subject beside others", extensions: [alternatives("DNS:a.example")],
                subject: "www.example.com"),
            CertificateKind(id: "wildcard", extensions: [alternatives("DNS:*.example.com")]),
            CertificateKind(id: "wildcard for two labels", extensions: [alternatives("DNS:*.com")]),
            CertificateKind(
                id: "wildcard for the name itself", host: "example.com", extensions: [alternatives("DNS:*.example.com")]
            ),
            CertificateKind(id: "wildcard alone", host: "com", extensions: [alternatives("DNS:*")]),
            CertificateKind(id: "wildcard in the middle", extensions: [alternatives("DNS:www.*.com")]),
            CertificateKind(id: "two wildcards", extensions: [alternatives("DNS:*.*.com")]),
            CertificateKind(id: "part of a label by wildcard", extensions: [alternatives("DNS:w*.example.com")]),
            CertificateKind(
                id: "internationalized name", host: "xn--bcher-kva.example.com",
                extensions: [alternatives("DNS:xn--bcher-kva.example.com")]),
            CertificateKind(
                id: "internationalized name by wildcard", host: "xn--bcher-kva.example.com",
                extensions: [alternatives("DNS:*.example.com")]),
            // A name of 25 bytes: www.example.com, 0, .evil.net.
            CertificateKind(
                id: "zero byte in the name",
                extensions: ["subjectAltName = DER:301b82197777772e6578616d706c652e636f6d002e6576696c2e6e6574"]),
            CertificateKind(id: "address", host: "127.0.0.1", extensions: [alternatives("IP:127.0.0.1")]),
            CertificateKind(id: "another address", host: "127.0.0.1", extensions: [alternatives("IP:127.0.0.2")]),
            CertificateKind(id: "IPv6 address", host: "2001:db8::1", extensions: [alternatives("IP:2001:db8::1")]),
            CertificateKind(id: "address as a name", host: "127.0.0.1", extensions: [alternatives("DNS:127.0.0.1")]),
            CertificateKind(id: "self-signed", issuer: nil), CertificateKind(id: "unknown issuer", issuer: .stranger),
            CertificateKind(id: "intermediate", issuer: .intermediate),
            CertificateKind(id: "issuer that is none", issuer: .noAuthority),
            CertificateKind(id: "path too long", issuer: .tooDeep),
            CertificateKind(id: "within name constraints", issuer: .constrained),
            CertificateKind(id: "outside of name constraints", issuer: .constrainedElsewhere),
            CertificateKind(
                id: "for servers",
                extensions: [alternatives("DNS:www.example.com"), "extendedKeyUsage = serverAuth"]),
            CertificateKind(
                id: "for clients only",
                extensions: [alternatives("DNS:www.example.com"), "extendedKeyUsage = clientAuth"]),
            CertificateKind(
                id: "unknown critical extension",
                extensions: [alternatives("DNS:www.example.com"), "1.2.3.4 = critical,DER:0500"]),
            CertificateKind(id: "RSA of 2,048 bits", key: ["rsa:2048"]),
            CertificateKind(id: "RSA of 1,024 bits", key: ["rsa:1024"]),
            CertificateKind(id: "signed with SHA-1", issuer: .intermediate, digest: "sha1"),
        ]

    @Test func `a certificate is accepted where openssl accepts it, but for what is listed`() async throws {
        let workshop = try CertificateWorkshop()
        var differences: Set<String> = []
        for kind in Self.cases {
            let certificate = try workshop.make(kind)
            let reference = try certificate.isAccepted(as: kind.host)
            let accepted = try await certificate.verdicts(as: kind.host)
            for (way, isAccepted) in accepted where isAccepted != reference {
                #expect(reference && Self.stricter[kind.id] != nil, "\(kind.id), \(way): \(isAccepted)")
                differences.insert(kind.id)
            }
        }
        #expect(differences == Set(Self.stricter.keys))
    }

    @Test func `a certificate out of its time is refused by all`() async throws {
        let certificates = try TestCertificates()
        let host = "www.example.com"
        for leaf in [try certificates.expiredLeaf(names: [host]), try certificates.earlyLeaf(names: [host])] {
            let certificate = MadeCertificate(
                authority: certificates.authority, chain: leaf.certificate, key: leaf.key)
            #expect(try !certificate.isAccepted(as: host))
            #expect(try await certificate.verdicts(as: host).values.allSatisfy { !$0 })
        }
    }
}
