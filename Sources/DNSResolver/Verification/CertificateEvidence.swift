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
