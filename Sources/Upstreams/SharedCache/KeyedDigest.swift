import COpenSSL

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
