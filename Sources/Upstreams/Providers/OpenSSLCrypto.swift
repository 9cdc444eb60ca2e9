import COpenSSL
package import HTTPDNS

/// The services' cryptography, implemented by OpenSSL's EVP interface. Safe to call from any thread.
package struct OpenSSLCrypto: Crypto {
    /// The most bytes of a text. HTTP bodies have at most 64 KiB; the limit keeps lengths in range of the C interface.
    private static let maximumLength = 1 << 20
    /// Bytes of GCM's authentication tag, which follows the ciphertext.
    private static let tagLength = 16
    /// The longest block of a cipher: by how much a ciphertext may exceed its plaintext, apart from the tag.
    private static let blockLength = 16

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
        transform(plaintext, cipher, isEncrypting: true, key, iv) ?? failed()
    }

    package func decrypt(_ ciphertext: [UInt8], _ cipher: PayloadCipher, key: [UInt8], iv: [UInt8]) -> [UInt8]? {
        transform(ciphertext, cipher, isEncrypting: false, key, iv) ?? failed()
    }

    /// Encrypts or decrypts a whole text. Nil when the library does not have the cipher or no memory, when the key or IV has
    /// the wrong length or the padding or tag is wrong, and for a text above the limit.
    private func transform(
        _ text: [UInt8], _ cipher: PayloadCipher, isEncrypting: Bool, _ key: [UInt8], _ iv: [UInt8]
    ) -> [UInt8]? {
        guard text.count <= Self.maximumLength, key.count == cipher.keyLength, iv.count == cipher.ivLength,
            let context = unsafe EVP_CIPHER_CTX_new()
        else { return nil }
        defer { unsafe EVP_CIPHER_CTX_free(context) }
        let (algorithm, key) =
            switch cipher {
            case .aes128CBC: unsafe (EVP_aes_128_cbc(), key)
            case .aes128GCM: unsafe (EVP_aes_128_gcm(), key)
            // Single DES is in the legacy provider only. Triple DES with three equal keys is the same function.
            case .desECB: unsafe (EVP_des_ede3_ecb(), key + key + key)
            }
        let hasTag = cipher == .aes128GCM
        var (input, tag) = (text, [UInt8](repeating: 0, count: Self.tagLength))
        guard unsafe EVP_CipherInit_ex2(context, algorithm, key, iv, isEncrypting ? 1 : 0, nil) == 1 else { return nil }
        if hasTag, !isEncrypting {
            guard text.count >= Self.tagLength else { return nil }
            tag = Array(text.suffix(Self.tagLength))
            input.removeLast(Self.tagLength)
            guard unsafe EVP_CIPHER_CTX_ctrl(context, EVP_CTRL_AEAD_SET_TAG, Int32(Self.tagLength), &tag) == 1 else {
                return nil
            }
        }
        var (length, lastLength): (Int32, Int32) = (0, 0)
        var output = [UInt8](repeating: 0, count: input.count + Self.blockLength)
        var last = [UInt8](repeating: 0, count: Self.blockLength)
        guard unsafe EVP_CipherUpdate(context, &output, &length, input, Int32(input.count)) == 1,
            unsafe EVP_CipherFinal_ex(context, &last, &lastLength) == 1,
            unsafe !hasTag || !isEncrypting
                || EVP_CIPHER_CTX_ctrl(context, EVP_CTRL_AEAD_GET_TAG, Int32(Self.tagLength), &tag) == 1
        else { return nil }
        return Array(output.prefix(Int(length))) + last.prefix(Int(lastLength)) + (hasTag && isEncrypting ? tag : [])
    }

    /// Returns nil and clears OpenSSL's error queue; otherwise the next TLS call on this thread would find an error of
    /// another call.
    private func failed() -> [UInt8]? {
        ERR_clear_error()
        return nil
    }
}
