package import DNSWire
package import Scheduling

/// Makes TLS handshakes with servers, to see whose they are.
@Loop
package protocol Handshake: AnyObject, Sendable {
    /// Makes one, with the name as SNI and as the name that the certificate must carry. Ends by `deadline`, and at once
    /// when the task is cancelled.
    func shakeHands(with address: IPAddress, port: UInt16, as name: Name, until deadline: Instant) async
        -> HandshakeOutcome
}

/// How a handshake ended.
package enum HandshakeOutcome: Hashable, Sendable {
    /// The certificate is valid for the name.
    case proven
    /// It is not.
    case wrongCertificate(CertificateEvidence)
    /// Nobody listens, or nothing came in time.
    case noTLS
    /// Anything else; the reason is for logs.
    case unclear(String)
    /// It was given up: nothing is known.
    case cancelled
}

/// What was seen of a certificate that is not the name's. Texts are bounded, and of printable ASCII only.
package struct CertificateEvidence: Hashable, Sendable {
    /// Why it is refused.
    package var reason: String
    /// Distinguished names in RFC 2253's form; empty when they could not be read.
    package var subject: String
    package var issuer: String
    /// SHA-256 of the whole certificate in hexadecimal; empty when it could not be had.
    package var fingerprint: String

    package init(reason: String, subject: String = "", issuer: String = "", fingerprint: String = "") {
        self.reason = reason
        self.subject = subject
        self.issuer = issuer
        self.fingerprint = fingerprint
    }
}

extension CertificateEvidence: CustomStringConvertible {
    /// One sentence without its subject: "its certificate ...".
    package var description: String {
        var text = reason
        if !subject.isEmpty { text += ": subject \(subject)" }
        if !issuer.isEmpty { text += ", issuer \(issuer)" }
        return text
    }
}
