/// The cryptography that services need, a protocol so that this target stays free of C.
///
/// Functions return nil for what cannot be done: an algorithm missing in the library, as in FIPS mode, or a key of the
/// wrong length.
package protocol Crypto: Sendable {
    /// The MD5 digest of `bytes`, 16 bytes (RFC 1321); services sign with it.
    func md5(_ bytes: [UInt8]) -> [UInt8]?

    /// The SHA-256 digest of `bytes`, 32 bytes (FIPS 180-4); AliDNS signs with it.
    func sha256(_ bytes: [UInt8]) -> [UInt8]?

    /// The HMAC-SHA256 of `bytes`, 32 bytes (RFC 2104); Aliyun's v2 signs with it.
    func hmacSHA256(_ bytes: [UInt8], key: [UInt8]) -> [UInt8]?

    /// `count` unpredictable bytes, for the IVs of ciphers.
    func randomBytes(_ count: Int) -> [UInt8]?

    /// Encrypts; with `aes128GCM` the tag follows the ciphertext.
    ///
    /// - Parameter iv: `cipher.ivLength` bytes; never used twice with one key.
    func encrypt(_ plaintext: [UInt8], _ cipher: PayloadCipher, key: [UInt8], iv: [UInt8]) -> [UInt8]?

    /// Decrypts. Nil also for a wrong key, padding or tag.
    func decrypt(_ ciphertext: [UInt8], _ cipher: PayloadCipher, key: [UInt8], iv: [UInt8]) -> [UInt8]?
}
