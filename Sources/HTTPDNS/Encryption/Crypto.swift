/// The cryptography that services need, so that this target stays free of C.
///
/// Whatever cannot be done is nil: an algorithm that the library has not, as in FIPS mode, or a key of the wrong length.
package protocol Crypto: Sendable {
    /// The MD5 digest of `bytes`, 16 bytes (RFC 1321); services sign with it.
    func md5(_ bytes: [UInt8]) -> [UInt8]?

    /// The SHA-256 digest of `bytes`, 32 bytes (FIPS 180-4); AliDNS signs with it.
    func sha256(_ bytes: [UInt8]) -> [UInt8]?

    /// The HMAC-SHA256 of `bytes`, 32 bytes (RFC 2104); Aliyun's v2 signs with it.
    func hmacSHA256(_ bytes: [UInt8], key: [UInt8]) -> [UInt8]?

    /// So many bytes that nobody can foretell, for the IVs of ciphers.
    func randomBytes(_ count: Int) -> [UInt8]?

    /// Encrypts; of `aes128GCM` the tag follows the ciphertext.
    ///
    /// - Parameter iv: `cipher.ivLength` bytes; never twice the same with one key.
    func encrypt(_ plaintext: [UInt8], _ cipher: PayloadCipher, key: [UInt8], iv: [UInt8]) -> [UInt8]?

    /// The reverse. Also nil for another key, a padding that is none, and a tag that does not fit.
    func decrypt(_ ciphertext: [UInt8], _ cipher: PayloadCipher, key: [UInt8], iv: [UInt8]) -> [UInt8]?
}
