import COpenSSL
import CSystem.Linux
import DNSWire
import Glibc
import Platform

/// The trust anchors (certificate authorities) for a service's certificate, read from a file, and what else all connections
/// have in common that use it: each with a context of its own would cost 150 us more.
@Loop
@safe final class TLSAuthorities {
    /// Owned; each connection holds a reference. It owns `store`.
    nonisolated(unsafe) let context: OpaquePointer
    nonisolated(unsafe) let store: OpaquePointer
    /// The number of this reading of a file, unique in the process.
    nonisolated let reading: Int
    /// What its file was when it was read.
    private let version: [Int]
    private let readTime: Instant

    /// OpenSSL holds memory for one record per direction as long as a connection is open; requests are small.
    private static let sentRecordSize = 4_096

    private static var readings = 0
    private static var known: [String: TLSAuthorities] = [:]

    /// The trust anchors of a PEM file, read again when it has changed or the last reading is `HTTPLimits.authorityCache`
    /// old. Throws `UpstreamFailure.unusable` for a file that cannot be read or holds no certificate.
    static func read(_ path: String, at now: Instant) throws(UpstreamFailure) -> TLSAuthorities {
        known = known.filter { now - $0.value.readTime < .seconds(HTTPLimits.authorityCache) }
        let version = version(of: path)
        if let known = known[path], known.version == version { return known }
        let authorities = try TLSAuthorities(path, version, at: now)
        known[path] = authorities
        return authorities
    }

    /// Device, inode, size and time of change of a file; empty for what is none, where reading could have no end, and for one
    /// that is too large to be read on the loop.
    private static func version(of path: String) -> [Int] {
        var status = stat()
        guard unsafe stat(path, &status) == 0, status.st_mode & S_IFMT == S_IFREG,
            status.st_size <= longestCertificateFile
        else { return [] }
        return [
            Int(truncatingIfNeeded: status.st_dev), Int(truncatingIfNeeded: status.st_ino), Int(status.st_size),
            status.st_mtim.tv_sec, status.st_mtim.tv_nsec,
        ]
    }

    private init(_ path: String, _ version: [Int], at now: Instant) throws(UpstreamFailure) {
        Self.readings += 1
        reading = Self.readings
        self.version = version
        readTime = now
        let useless = UpstreamFailure.unusable("\(path) has no certificates of authorities that can be read")
        guard !version.isEmpty else { throw useless }
        guard let context = unsafe SSL_CTX_new(TLS_client_method()) else { throw .network("no memory for TLS") }
        unsafe self.context = unsafe context
        unsafe store = unsafe SSL_CTX_get_cert_store(context)
        defer { ERR_clear_error() }
        unsafe copenssl_verify_but_time(context)
        unsafe SSL_CTX_ctrl(context, SSL_CTRL_SET_MAX_SEND_FRAGMENT, Self.sentRecordSize, nil)
        guard unsafe copenssl_set_versions(context) == 1, unsafe copenssl_limit_cost(context) == 1 else {
            throw .network("no memory for TLS")
        }
        guard unsafe X509_STORE_load_file(store, path) == 1 else { throw useless }
        // A listed certificate is trusted also when it is not self-signed.
        unsafe X509_STORE_set_flags(store, UInt(X509_V_FLAG_PARTIAL_CHAIN))
    }

    deinit { unsafe SSL_CTX_free(context) }
}
