import COpenSSL

/// AES-256-GCM (NIST SP 800-38D) by libcrypto: nonce, ciphertext and tag in one value. One context for all.
@safe final class SealBox {
    static let keyLength = 32
    static let nonceLength = 12
    private static let tagLength = 16
    /// Bytes by which a sealed text is longer than the text.
    static let overhead = nonceLength + tagLength

    private enum Direction: Int32 {
        case open = 0
        case seal = 1
    }

    /// Owned.
    private let context: OpaquePointer
    private let cipher: OpaquePointer

    /// Nil where the library cannot do it.
    init?() {
        guard let cipher = unsafe EVP_CIPHER_fetch(nil, "AES-256-GCM", nil) else {
            ERR_clear_error()
            return nil
        }
        guard let context = unsafe EVP_CIPHER_CTX_new() else {
            unsafe EVP_CIPHER_free(cipher)
            return nil
        }
        // Once: for a cipher that is named again the library makes its part of the context once more.
        guard unsafe EVP_CipherInit_ex2(context, cipher, nil, nil, Direction.seal.rawValue, nil) == 1 else {
            ERR_clear_error()
            unsafe EVP_CIPHER_CTX_free(context)
            unsafe EVP_CIPHER_free(cipher)
            return nil
        }
        unsafe self.cipher = unsafe cipher
        unsafe self.context = unsafe context
    }

    deinit {
        unsafe EVP_CIPHER_CTX_free(context)
        unsafe EVP_CIPHER_free(cipher)
    }

    /// Nil where the library fails.
    ///
    /// - Parameters:
    ///   - key: `keyLength` bytes.
    ///   - associated: what must be the same when the box is opened.
    func seal(_ text: [UInt8], key: [UInt8], associated: [UInt8]) -> [UInt8]? {
        guard let nonce = OpenSSLCrypto().randomBytes(Self.nonceLength) else { return nil }
        var tag = [UInt8](repeating: 0, count: Self.tagLength)
        guard let sealed = run(.seal, text, key, nonce, associated, &tag) else { return nil }
        var box: [UInt8] = []
        box.reserveCapacity(text.count + Self.overhead)
        box += nonce
        box += sealed
        box += tag
        return box
    }

    /// Nil unless `box` was sealed by this key, with these associated data.
    func open(_ box: [UInt8], key: [UInt8], associated: [UInt8]) -> [UInt8]? {
        guard box.count >= Self.overhead else { return nil }
        var tag = Array(box.suffix(Self.tagLength))
        return run(
            .open, Array(box[Self.nonceLength..<(box.count - Self.tagLength)]), key,
            Array(box.prefix(Self.nonceLength)), associated, &tag)
    }

    private func run(
        _ direction: Direction, _ text: [UInt8], _ key: [UInt8], _ nonce: [UInt8], _ associated: [UInt8],
        _ tag: inout [UInt8]
    ) -> [UInt8]? {
        var length: Int32 = 0
        var output = [UInt8](repeating: 0, count: text.count + Self.tagLength)
        var last = [UInt8](repeating: 0, count: Self.tagLength)
        let isOpening = direction == .open
        let control = isOpening ? EVP_CTRL_AEAD_SET_TAG : EVP_CTRL_AEAD_GET_TAG
        guard key.count == Self.keyLength, nonce.count == Self.nonceLength,
            unsafe EVP_CipherInit_ex2(context, nil, key, nonce, direction.rawValue, nil) == 1,
            unsafe EVP_CipherUpdate(context, nil, &length, associated, Int32(clamping: associated.count)) == 1,
            unsafe EVP_CipherUpdate(context, &output, &length, text, Int32(clamping: text.count)) == 1,
            Int(length) == text.count,
            unsafe !isOpening || EVP_CIPHER_CTX_ctrl(context, control, Int32(Self.tagLength), &tag) == 1,
            unsafe EVP_CipherFinal_ex(context, &last, &length) == 1, length == 0,
            unsafe isOpening || EVP_CIPHER_CTX_ctrl(context, control, Int32(Self.tagLength), &tag) == 1
        else {
            // An error left in the queue would be taken for one of the next TLS call.
            ERR_clear_error()
            return nil
        }
        output.removeLast(Self.tagLength)
        return output
    }
}

/// HMAC-SHA512 (RFC 2104) under one key, by one context of libcrypto: to make one for each digest costs more than the digest.
@safe final class KeyedDigest {
    private static let length = 64

    /// Owned.
    private let context: OpaquePointer

    /// Nil where the library cannot do it.
    init?(key: [UInt8]) {
        guard let context = unsafe copenssl_hmac_create(key, key.count) else {
            ERR_clear_error()
            return nil
        }
        unsafe self.context = unsafe context
    }

    deinit { unsafe EVP_MAC_CTX_free(context) }

    /// 64 bytes; nil where the library fails.
    func digest(of bytes: [UInt8]) -> [UInt8]? {
        var code = [UInt8](repeating: 0, count: Self.length)
        guard unsafe copenssl_hmac(context, bytes, bytes.count, &code) == 1 else {
            // An error left in the queue would be taken for one of the next TLS call.
            ERR_clear_error()
            return nil
        }
        return code
    }
}
