/// Encrypts what a service is asked and decrypts what it replies: IV, ciphertext, and the tag where the cipher has one, in
/// this order, as Aliyun and Tencent both lay it out.
struct PayloadBox: Sendable {
    /// How the text of a key means bytes.
    enum KeyForm {
        /// Two digits a byte.
        case hexadecimal
        /// The bytes of the text itself, as many as the cipher takes.
        case text
    }

    let cipher: PayloadCipher
    let key: Secret
    let keyForm: KeyForm
    let crypto: any Crypto

    /// Wrong in length for a text that is no key of this form; then nothing is encrypted.
    private var keyBytes: [UInt8] {
        switch keyForm {
        case .hexadecimal: TextDecoding.hexadecimal(key.value) ?? []
        case .text: Array(key.value.utf8.prefix(cipher.keyLength))
        }
    }

    func seal(_ plaintext: [UInt8]) throws(ServiceFailure) -> [UInt8] {
        guard let iv = crypto.randomBytes(cipher.ivLength),
            let ciphertext = crypto.encrypt(plaintext, cipher, key: keyBytes, iv: iv)
        else {
            throw .unavailable("no \(cipher.rawValue) in this system's libcrypto, and requests are encrypted with it")
        }
        return iv + ciphertext
    }

    /// One failure for whatever is wrong, so that nobody learns from it which padding was right.
    func open(_ bytes: [UInt8]?) throws(ServiceFailure) -> [UInt8] {
        guard let bytes, bytes.count >= cipher.ivLength,
            let plaintext = crypto.decrypt(
                Array(bytes.dropFirst(cipher.ivLength)), cipher, key: keyBytes,
                iv: Array(bytes.prefix(cipher.ivLength)))
        else { throw .unavailable("the reply cannot be decrypted: another key, or it was changed on the way") }
        return plaintext
    }
}
