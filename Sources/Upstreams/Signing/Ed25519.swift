import COpenSSL

/// Signatures with Ed25519 (RFC 8032), by OpenSSL's EVP interface. Safe to call from any thread.
package enum Ed25519 {
    /// Bytes of a key, private or public.
    private static let keyLength = 32
    private static let signatureLength = 64

    /// A new private key, 32 bytes; nil when the library has no Ed25519 or no random bytes.
    package static func newKey() -> [UInt8]? { OpenSSLCrypto().randomBytes(keyLength) }

    /// The public key of a private one, 32 bytes; nil for a key of another length.
    package static func publicKey(of privateKey: [UInt8]) -> [UInt8]? {
        guard let key = PrivateOrPublic(privateKey: privateKey) else { return nil }
        return key.publicBytes
    }

    /// The signature of a text, 64 bytes; nil for a key of another length.
    package static func signature(of text: ArraySlice<UInt8>, privateKey: [UInt8]) -> [UInt8]? {
        PrivateOrPublic(privateKey: privateKey)?.signature(of: text)
    }

    /// Whether a signature is of this text and key.
    package static func isValid(_ signature: [UInt8], of text: ArraySlice<UInt8>, publicKey: [UInt8]) -> Bool {
        guard signature.count == signatureLength else { return false }
        return PrivateOrPublic(publicKey: publicKey)?.verifies(signature, of: text) ?? false
    }

    /// OpenSSL's object of a key.
    @safe private struct PrivateOrPublic: ~Copyable {
        private let key: OpaquePointer

        init?(privateKey bytes: [UInt8]) {
            guard bytes.count == keyLength,
                let key = unsafe EVP_PKEY_new_raw_private_key(EVP_PKEY_ED25519, nil, bytes, bytes.count)
            else {
                ERR_clear_error()
                return nil
            }
            unsafe self.key = unsafe key
        }

        init?(publicKey bytes: [UInt8]) {
            guard bytes.count == keyLength,
                let key = unsafe EVP_PKEY_new_raw_public_key(EVP_PKEY_ED25519, nil, bytes, bytes.count)
            else {
                ERR_clear_error()
                return nil
            }
            unsafe self.key = unsafe key
        }

        deinit { unsafe EVP_PKEY_free(key) }

        var publicBytes: [UInt8]? {
            var bytes = [UInt8](repeating: 0, count: keyLength)
            var length = bytes.count
            guard unsafe EVP_PKEY_get_raw_public_key(key, &bytes, &length) == 1, length == keyLength else {
                ERR_clear_error()
                return nil
            }
            return bytes
        }

        func signature(of text: ArraySlice<UInt8>) -> [UInt8]? {
            guard let context = unsafe EVP_MD_CTX_new() else { return nil }
            defer { unsafe EVP_MD_CTX_free(context) }
            var signature = [UInt8](repeating: 0, count: signatureLength)
            var length = signature.count
            let isSigned = unsafe text.withUnsafeBufferPointer { text in
                unsafe EVP_DigestSignInit(context, nil, nil, nil, key) == 1
                    && EVP_DigestSign(context, &signature, &length, text.baseAddress, text.count) == 1
            }
            guard isSigned, length == signatureLength else {
                ERR_clear_error()
                return nil
            }
            return signature
        }

        func verifies(_ signature: [UInt8], of text: ArraySlice<UInt8>) -> Bool {
            guard let context = unsafe EVP_MD_CTX_new() else { return false }
            defer { unsafe EVP_MD_CTX_free(context) }
            let isValid = unsafe text.withUnsafeBufferPointer { text in
                unsafe EVP_DigestVerifyInit(context, nil, nil, nil, key) == 1
                    && EVP_DigestVerify(context, signature, signature.count, text.baseAddress, text.count) == 1
            }
            // A wrong signature leaves errors too: the next TLS call on this thread would find them.
            if !isValid { ERR_clear_error() }
            return isValid
        }
    }
}
