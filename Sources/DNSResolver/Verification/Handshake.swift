package import DNSWire
package import Scheduling

/// Makes TLS handshakes with servers, to verify their certificates.
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
    case verified
    /// It is not.
    case wrongCertificate(CertificateEvidence)
    /// It is but for its time: this machine's clock may be wrong, or the site's operator may have renewed late. The reason
    /// is for logs.
    case wrongTime(String)
    /// The connection was refused.
    case noTLS
    /// There was no response at all in time: not even a TCP connection.
    case silent
    /// There was a TCP connection, and no TLS in time: perhaps for this name alone.
    case mute
    /// The address is unreachable from here, which says nothing about the server.
    case unreachable
    /// Anything else; the reason is for logs.
    case unclear(String)
    /// It was cancelled: nothing is known.
    case cancelled
}

/// Details of a certificate that is not the name's. Texts are bounded, and of printable ASCII only.
package struct CertificateEvidence: Hashable, Sendable {
    /// Why it is refused.
    package var reason: String
    /// Distinguished names in RFC 2253's form; empty when they could not be read.
    package var subject: String
    package var issuer: String
    /// SHA-256 of the whole certificate in hexadecimal; empty when it is not available.
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
