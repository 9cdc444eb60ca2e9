import COpenSSL

/// Signatures with Ed25519 (RFC 8032), by OpenSSL's EVP interface. Safe to call from any thread.
public enum Ed25519 {
    /// Bytes of a key, private or public.
    private static let keyLength = 32
    private static let signatureLength = 64

    /// A new private key, 32 bytes; nil when the library has no Ed25519 or no random bytes.
    public static func newKey() -> [UInt8]? { OpenSSLCrypto().randomBytes(keyLength) }

    /// The public key of a private one, 32 bytes; nil for a key of another length.
    public static func publicKey(of privateKey: [UInt8]) -> [UInt8]? {
        guard let key = Key(privateKey, isPrivate: true) else { return nil }
        var bytes = [UInt8](repeating: 0, count: keyLength)
        var length = bytes.count
        let isRead = unsafe EVP_PKEY_get_raw_public_key(key.pointer, &bytes, &length) == 1
        return succeeded(isRead && length == keyLength) ? bytes : nil
    }

    /// The signature of a text, 64 bytes; nil for a key of another length.
    public static func signature(of text: ArraySlice<UInt8>, privateKey: [UInt8]) -> [UInt8]? {
        guard let key = Key(privateKey, isPrivate: true), let context = unsafe EVP_MD_CTX_new() else { return nil }
        defer { unsafe EVP_MD_CTX_free(context) }
        var signature = [UInt8](repeating: 0, count: signatureLength)
        var length = signature.count
        let isSigned = unsafe text.withUnsafeBufferPointer { text in
            unsafe EVP_DigestSignInit(context, nil, nil, nil, key.pointer) == 1
                && EVP_DigestSign(context, &signature, &length, text.baseAddress, text.count) == 1
        }
        return succeeded(isSigned && length == signatureLength) ? signature : nil
    }

    /// Whether a signature is of this text and key.
    public static func isValid(_ signature: [UInt8], of text: ArraySlice<UInt8>, publicKey: [UInt8]) -> Bool {
        guard signature.count == signatureLength, let key = Key(publicKey, isPrivate: false),
            let context = unsafe EVP_MD_CTX_new()
        else { return false }
        defer { unsafe EVP_MD_CTX_free(context) }
        return succeeded(
            unsafe text.withUnsafeBufferPointer { text in
                unsafe EVP_DigestVerifyInit(context, nil, nil, nil, key.pointer) == 1
                    && EVP_DigestVerify(context, signature, signature.count, text.baseAddress, text.count) == 1
            })
    }

    /// Passes a result on. A failure, a wrong signature too, leaves errors that the next TLS call on this thread would find.
    private static func succeeded(_ hasSucceeded: Bool) -> Bool {
        if !hasSucceeded { ERR_clear_error() }
        return hasSucceeded
    }

    /// OpenSSL's object of a key.
    @safe private struct Key: ~Copyable {
        let pointer: OpaquePointer

        init?(_ bytes: [UInt8], isPrivate: Bool) {
            let make = unsafe isPrivate ? EVP_PKEY_new_raw_private_key : EVP_PKEY_new_raw_public_key
            guard bytes.count == keyLength, let pointer = unsafe make(EVP_PKEY_ED25519, nil, bytes, bytes.count) else {
                ERR_clear_error()
                return nil
            }
            unsafe self.pointer = unsafe pointer
        }

        deinit { unsafe EVP_PKEY_free(pointer) }
    }
}
