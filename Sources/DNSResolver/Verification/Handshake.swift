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
    /// There is no way there from here, which says nothing of the server.
    case unreachable
    /// Anything else; the reason is for logs.
    case unclear(String)
    /// It was given up: nothing is known.
    case cancelled
}
