import COpenSSL

/// AES-256-GCM (NIST SP 800-38D) by libcrypto: nonce, ciphertext and tag in one value.
enum SealBox {
    static let nonceLength = 12
    private static let tagLength = 16
    /// Bytes by which a sealed text is longer than the text.
    static let overhead = nonceLength + tagLength

    private enum Direction: Int32 {
        case open = 0
        case seal = 1
    }

    /// Nil where the library cannot do it.
    ///
    /// - Parameters:
    ///   - key: 32 bytes.
    ///   - associated: what must be the same when the box is opened.
    static func seal(_ text: [UInt8], key: [UInt8], associated: [UInt8]) -> [UInt8]? {
        guard let nonce = OpenSSLCrypto().randomBytes(nonceLength) else { return nil }
        var tag = [UInt8](repeating: 0, count: tagLength)
        return run(.seal, text, key, nonce, associated, &tag).map { nonce + $0 + tag }
    }

    /// Nil unless `box` was sealed by this key, with these associated data.
    static func open(_ box: [UInt8], key: [UInt8], associated: [UInt8]) -> [UInt8]? {
        guard box.count >= overhead else { return nil }
        var tag = Array(box.suffix(tagLength))
        return run(
            .open, Array(box[nonceLength..<(box.count - tagLength)]), key, Array(box.prefix(nonceLength)), associated,
            &tag)
    }

    private static func run(
        _ direction: Direction, _ text: [UInt8], _ key: [UInt8], _ nonce: [UInt8], _ associated: [UInt8],
        _ tag: inout [UInt8]
    ) -> [UInt8]? {
        // An error left in the queue would be taken for one of the next TLS call.
        defer { ERR_clear_error() }
        guard key.count == 32, let context = EVP_CIPHER_CTX_new() else { return nil }
        defer { EVP_CIPHER_CTX_free(context) }
        var length: Int32 = 0
        var output = [UInt8](repeating: 0, count: text.count + tagLength)
        var last = [UInt8](repeating: 0, count: tagLength)
        guard EVP_CipherInit_ex2(context, EVP_aes_256_gcm(), key, nonce, direction.rawValue, nil) == 1,
            EVP_CipherUpdate(context, nil, &length, associated, Int32(clamping: associated.count)) == 1,
            EVP_CipherUpdate(context, &output, &length, text, Int32(clamping: text.count)) == 1,
            Int(length) == text.count
        else { return nil }
        let control = direction == .open ? EVP_CTRL_AEAD_SET_TAG : EVP_CTRL_AEAD_GET_TAG
        if direction == .open {
            guard EVP_CIPHER_CTX_ctrl(context, control, Int32(tagLength), &tag) == 1 else { return nil }
        }
        guard EVP_CipherFinal_ex(context, &last, &length) == 1, length == 0 else { return nil }
        if direction == .seal {
            guard EVP_CIPHER_CTX_ctrl(context, control, Int32(tagLength), &tag) == 1 else { return nil }
        }
        output.removeLast(tagLength)
        return output
    }
}
