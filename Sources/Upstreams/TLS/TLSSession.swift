import COpenSSL
import Scheduling

/// A session of a finished handshake, to resume in the next one, which saves a round trip (RFC 8446 section 2.2).
///
/// On resumption the server presents no certificate: a session is not used for longer than a connection may live, nor
/// when the file of trust anchors has changed.
@safe final class TLSSession {
    /// Owned.
    let pointer: OpaquePointer
    /// `TLSAuthorities.reading` of the trust anchors under which its certificate was valid.
    let authorities: Int
    /// When a certificate was last verified.
    let verified: Instant

    /// Takes ownership of `pointer`.
    init(owning pointer: OpaquePointer, under authorities: Int, verified: Instant) {
        unsafe self.pointer = unsafe pointer
        self.authorities = authorities
        self.verified = verified
    }

    deinit { unsafe SSL_SESSION_free(pointer) }

    func isUsable(at now: Instant) -> Bool { now - verified < .seconds(HTTPLimits.connectionLifetime) }
}
