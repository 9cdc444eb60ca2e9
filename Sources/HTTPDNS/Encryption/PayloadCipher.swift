/// The ciphers of queries to services and of their responses.
package enum PayloadCipher: String, Hashable, Sendable, CaseIterable {
    /// CBC mode (NIST SP 800-38A) with PKCS #7 padding (RFC 5652 section 6.3). Not authenticated: a changed ciphertext
    /// decrypts to a changed text.
    case aes128CBC = "AES-128-CBC"
    /// GCM (NIST SP 800-38D) without additional data, with a tag of 16 bytes, which cannot be made without the key.
    case aes128GCM = "AES-128-GCM"
    /// ECB mode with PKCS #5 padding. Its key of 56 bits can be found by brute force.
    case desECB = "DES-ECB"

    /// Bytes of the key.
    package var keyLength: Int {
        switch self {
        case .aes128CBC, .aes128GCM: 16
        case .desECB: 8
        }
    }

    /// Bytes of the IV.
    package var ivLength: Int {
        switch self {
        case .aes128CBC: 16
        case .aes128GCM: 12
        case .desECB: 0
        }
    }
}
