import DNSWire

/// Encrypts queries to a service and decrypts its responses. The format of Aliyun and Tencent: IV, ciphertext, and the
/// tag if the cipher has one.
struct PayloadBox: Sendable {
    /// The encoding of a key's text.
    enum KeyForm {
        /// Two digits per byte.
        case hexadecimal
        /// The bytes of the text itself, as many as the cipher needs.
        case text
    }

    let cipher: PayloadCipher
    let key: Secret
    let keyForm: KeyForm
    let crypto: any Crypto

    /// The key's bytes; of wrong length for a text not in this form: then nothing is encrypted.
    private var keyBytes: [UInt8] {
        switch keyForm {
        case .hexadecimal: TextDecoding.hexadecimal(key.value) ?? []
        case .text: Array(key.value.utf8.prefix(cipher.keyLength))
        }
    }

    func seal(_ plaintext: [UInt8]) throws(UpstreamFailure) -> [UInt8] {
        guard let iv = crypto.randomBytes(cipher.ivLength),
            let ciphertext = crypto.encrypt(plaintext, cipher, key: keyBytes, iv: iv)
        else {
            throw .unusable("no \(cipher.rawValue) in this system's libcrypto, and requests are encrypted with it")
        }
        return iv + ciphertext
    }

    /// Throws the same failure whatever is wrong, so that it is no padding oracle.
    func open(_ bytes: [UInt8]?) throws(UpstreamFailure) -> [UInt8] {
        guard let bytes, bytes.count >= cipher.ivLength,
            let plaintext = crypto.decrypt(
                Array(bytes.dropFirst(cipher.ivLength)), cipher, key: keyBytes,
                iv: Array(bytes.prefix(cipher.ivLength)))
        else { throw .unusable("the reply cannot be decrypted: another key, or it was changed on the way") }
        return plaintext
    }
}
