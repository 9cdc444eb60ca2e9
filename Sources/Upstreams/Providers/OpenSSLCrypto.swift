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
