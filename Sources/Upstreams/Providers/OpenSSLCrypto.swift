import COpenSSL
package import HTTPDNS

/// The services' cryptography, implemented by OpenSSL's EVP interface. Safe to call from any thread.
package struct OpenSSLCrypto: Crypto {
    package init() {}

    package func md5(_ bytes: [UInt8]) -> [UInt8]? { unsafe digest(of: bytes, EVP_md5()) }

    package func sha256(_ bytes: [UInt8]) -> [UInt8]? { unsafe digest(of: bytes, EVP_sha256()) }

    private func digest(of bytes: [UInt8], _ algorithm: OpaquePointer?) -> [UInt8]? {
        var digest = [UInt8](repeating: 0, count: Int(EVP_MAX_MD_SIZE))
        var length: UInt32 = 0
        guard unsafe EVP_Digest(bytes, bytes.count, &digest, &length, algorithm, nil) == 1 else { return failed() }
        return Array(digest.prefix(Int(length)))
    }

    package func hmacSHA256(_ bytes: [UInt8], key: [UInt8]) -> [UInt8]? {
        var code = [UInt8](repeating: 0, count: Int(EVP_MAX_MD_SIZE))
        var length = 0
        guard !key.isEmpty,
            unsafe EVP_Q_mac(
                nil, "HMAC", nil, "SHA256", nil, key, key.count, bytes, bytes.count, &code, code.count, &length) != nil
        else { return failed() }
        return Array(code.prefix(length))
    }

    package func randomBytes(_ count: Int) -> [UInt8]? {
        var bytes = [UInt8](repeating: 0, count: count)
        guard count == 0 || Int32(exactly: count).map({ unsafe RAND_bytes(&bytes, $0) == 1 }) == true else {
            return failed()
        }
        return bytes
    }

    package func encrypt(_ plaintext: [UInt8], _ cipher: PayloadCipher, key: [UInt8], iv: [UInt8]) -> [UInt8]? {
        transform(plaintext, CipherContext(cipher, .encrypt), key, iv)
    }

    package func decrypt(_ ciphertext: [UInt8], _ cipher: PayloadCipher, key: [UInt8], iv: [UInt8]) -> [UInt8]? {
        transform(ciphertext, CipherContext(cipher, .decrypt), key, iv)
    }

    private func transform(
        _ text: [UInt8], _ context: consuming CipherContext?, _ key: [UInt8], _ iv: [UInt8]
    ) -> [UInt8]? {
        guard let context else { return failed() }
        return context.transform(text, key: key, iv: iv) ?? failed()
    }

    /// Returns nil and clears OpenSSL's error queue; otherwise the next TLS call on this thread would find an error of
    /// another call.
    private func failed() -> [UInt8]? {
        ERR_clear_error()
        return nil
    }
}

/// OpenSSL's cipher context for encrypting or decrypting one text.
@safe struct CipherContext: ~Copyable {
    enum Direction: Int32 {
        case decrypt = 0
        case encrypt = 1
    }

    /// The most bytes of a text. HTTP bodies have at most 64 KiB; the limit keeps lengths in range of the C interface.
    static let maximumLength = 1 << 20
    /// Bytes of GCM's authentication tag, which follows the ciphertext.
    private static let tagLength = 16
    /// The longest block of a cipher: by how much a ciphertext may exceed its plaintext, apart from the tag.
    private static let blockLength = 16

    private let context: OpaquePointer
    private let cipher: PayloadCipher
    private let direction: Direction

    /// Nil without memory.
    init?(_ cipher: PayloadCipher, _ direction: Direction) {
        guard let context = unsafe EVP_CIPHER_CTX_new() else { return nil }
        unsafe self.context = unsafe context
        self.cipher = cipher
        self.direction = direction
    }

    deinit { unsafe EVP_CIPHER_CTX_free(context) }

    /// Encrypts or decrypts a whole text. Nil when the library does not have the cipher, when the key or IV has the
    /// wrong length or the padding or tag is wrong, and for a text above the limit.
    consuming func transform(_ text: [UInt8], key: [UInt8], iv: [UInt8]) -> [UInt8]? {
        guard text.count <= Self.maximumLength, start(key, iv) else { return nil }
        let hasTag = cipher == .aes128GCM
        var input = text
        if hasTag, direction == .decrypt {
            guard text.count >= Self.tagLength else { return nil }
            var tag = Array(text.suffix(Self.tagLength))
            input.removeLast(Self.tagLength)
            guard unsafe EVP_CIPHER_CTX_ctrl(context, EVP_CTRL_AEAD_SET_TAG, Int32(Self.tagLength), &tag) == 1 else {
                return nil
            }
        }
        var output = [UInt8](repeating: 0, count: input.count + Self.blockLength + Self.tagLength)
        guard let length = update(input, &output), let last = finish(&output, at: length) else { return nil }
        output.removeLast(output.count - length - last)
        guard hasTag, direction == .encrypt else { return output }
        var tag = [UInt8](repeating: 0, count: Self.tagLength)
        guard unsafe EVP_CIPHER_CTX_ctrl(context, EVP_CTRL_AEAD_GET_TAG, Int32(Self.tagLength), &tag) == 1 else {
            return nil
        }
        return output + tag
    }

    private borrowing func start(_ key: [UInt8], _ iv: [UInt8]) -> Bool {
        guard key.count == cipher.keyLength, iv.count == cipher.ivLength else { return false }
        let (algorithm, key) =
            switch cipher {
            case .aes128CBC: unsafe (EVP_aes_128_cbc(), key)
            case .aes128GCM: unsafe (EVP_aes_128_gcm(), key)
            // Single DES is in the legacy provider only. Triple DES with three equal keys is the same function.
            case .desECB: unsafe (EVP_des_ede3_ecb(), key + key + key)
            }
        return unsafe EVP_CipherInit_ex2(context, algorithm, key, iv, direction.rawValue, nil) == 1
    }

    /// - Returns: the number of bytes written.
    private borrowing func update(_ input: [UInt8], _ output: inout [UInt8]) -> Int? {
        var length: Int32 = 0
        guard unsafe EVP_CipherUpdate(context, &output, &length, input, Int32(input.count)) == 1 else { return nil }
        return Int(length)
    }

    /// Writes the last block, or checks padding and tag.
    private borrowing func finish(_ output: inout [UInt8], at offset: Int) -> Int? {
        var length: Int32 = 0
        let succeeded = unsafe output.withUnsafeMutableBufferPointer { buffer in
            guard let start = buffer.baseAddress, buffer.count - offset >= Self.blockLength else { return false }
            return unsafe EVP_CipherFinal_ex(context, start + offset, &length) == 1
        }
        return succeeded ? Int(length) : nil
    }
}
