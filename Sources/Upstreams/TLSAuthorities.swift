import COpenSSL
import Scheduling

/// The authorities that may sign a service's certificate, read from a file; shared by all connections that trust them.
@Loop
final class TLSAuthorities {
    /// Counts its references itself.
    nonisolated(unsafe) let store: OpaquePointer
    private let readTime: Instant

    private static var known: [String: TLSAuthorities] = [:]

    /// Those of a PEM file, read again once they are `HTTPLimits.authorityCache` old.
    ///
    /// - Throws: `HTTPFailure.unusable` for a file that cannot be read or holds no certificate.
    static func read(_ path: String, at now: Instant) throws(HTTPFailure) -> TLSAuthorities {
        known = known.filter { now - $0.value.readTime < .seconds(HTTPLimits.authorityCache) }
        if let known = known[path] { return known }
        let authorities = try TLSAuthorities(path, at: now)
        known[path] = authorities
        return authorities
    }

    private init(_ path: String, at now: Instant) throws(HTTPFailure) {
        readTime = now
        guard let store = X509_STORE_new() else { throw .network("no memory for TLS") }
        self.store = store
        defer { ERR_clear_error() }
        guard X509_STORE_load_file(store, path) == 1 else {
            throw .unusable("\(path) has no certificates of authorities that can be read")
        }
        // An authority that is listed is trusted, also one that another one signed.
        X509_STORE_set_flags(store, UInt(X509_V_FLAG_PARTIAL_CHAIN))
    }

    deinit { X509_STORE_free(store) }
}
