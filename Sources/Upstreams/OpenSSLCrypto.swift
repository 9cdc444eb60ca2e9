import COpenSSL
import HTTPDNS

/// The services' cryptography through OpenSSL's EVP interface. Any thread may call it.
package struct OpenSSLCrypto: Crypto {
    package init() {}

    package func md5(_ bytes: [UInt8]) -> [UInt8]? { digest(of: bytes, EVP_md5()) }

    package func sha256(_ bytes: [UInt8]) -> [UInt8]? { digest(of: bytes, EVP_sha256()) }

    private func digest(of bytes: [UInt8], _ algorithm: OpaquePointer?) -> [UInt8]? {
        var digest = [UInt8](repeating: 0, count: Int(EVP_MAX_MD_SIZE))
        var length: UInt32 = 0
        guard EVP_Digest(bytes, bytes.count, &digest, &length, algorithm, nil) == 1 else {
            // Else the next TLS call on this thread would find an error that is not its own.
            ERR_clear_error()
            return nil
        }
        return Array(digest.prefix(Int(length)))
    }
}
