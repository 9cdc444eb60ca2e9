import COpenSSL
import Scheduling

/// What a finished handshake left to begin the next one with, so that it takes a round trip less (RFC 8446 section 2.2).
///
/// With it the server shows no certificate: it is not used for longer than a connection may live, nor when the file of
/// authorities has changed.
final class TLSSession {
    /// Owned.
    let pointer: OpaquePointer
    /// `TLSAuthorities.reading` of those under whom it was good.
    let authorities: Int
    /// When a certificate was last looked at.
    let verified: Instant

    /// Takes ownership of `pointer`.
    init(owning pointer: OpaquePointer, under authorities: Int, verified: Instant) {
        self.pointer = pointer
        self.authorities = authorities
        self.verified = verified
    }

    deinit { SSL_SESSION_free(pointer) }

    func isUsable(at now: Instant) -> Bool { now - verified < .seconds(HTTPLimits.connectionLifetime) }
}
