import COpenSSL
import Glibc
import Scheduling

/// The authorities that may sign a service's certificate, read from a file; shared by all connections that trust them.
@Loop
final class TLSAuthorities {
    /// A file as it was when it was read.
    private struct Version: Equatable {
        let device: UInt
        let inode: UInt
        let size: Int
        let seconds: Int
        let nanoseconds: Int

        /// Nil for a file that there is not.
        init?(_ path: String) {
            var status = stat()
            guard stat(path, &status) == 0 else { return nil }
            (device, inode, size) = (UInt(status.st_dev), UInt(status.st_ino), Int(status.st_size))
            (seconds, nanoseconds) = (status.st_mtim.tv_sec, status.st_mtim.tv_nsec)
        }
    }

    /// Counts its references itself.
    nonisolated(unsafe) let store: OpaquePointer
    /// Tells this reading of a file from all others.
    nonisolated let reading: Int
    private let version: Version?
    private let readTime: Instant

    private static var readings = 0
    private static var known: [String: TLSAuthorities] = [:]

    /// Those of a PEM file, read again when it has changed or they are `HTTPLimits.authorityCache` old.
    ///
    /// - Throws: `HTTPFailure.unusable` for a file that cannot be read or holds no certificate.
    static func read(_ path: String, at now: Instant) throws(HTTPFailure) -> TLSAuthorities {
        known = known.filter { now - $0.value.readTime < .seconds(HTTPLimits.authorityCache) }
        let version = Version(path)
        if let known = known[path], known.version == version { return known }
        let authorities = try TLSAuthorities(path, version, at: now)
        known[path] = authorities
        return authorities
    }

    private init(_ path: String, _ version: Version?, at now: Instant) throws(HTTPFailure) {
        Self.readings += 1
        reading = Self.readings
        self.version = version
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
