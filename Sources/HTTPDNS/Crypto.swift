/// The cryptography that services need, so that this target stays free of C.
package protocol Crypto: Sendable {
    /// The MD5 digest of `bytes`, 16 bytes (RFC 1321); services sign with it.
    ///
    /// Nil when the library has no MD5, as in FIPS mode.
    func md5(_ bytes: [UInt8]) -> [UInt8]?

    /// The SHA-256 digest of `bytes`, 32 bytes (FIPS 180-4); AliDNS signs with it.
    ///
    /// Nil when the library has none.
    func sha256(_ bytes: [UInt8]) -> [UInt8]?
}
