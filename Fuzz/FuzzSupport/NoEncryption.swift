import HTTPDNS

/// Returns ciphertexts as plaintexts, so that the readers behind the ciphers get any bytes.
struct NoEncryption: Crypto {
    func md5(_ bytes: [UInt8]) -> [UInt8]? { [0] }
    func sha256(_ bytes: [UInt8]) -> [UInt8]? { [0] }
    func hmacSHA256(_ bytes: [UInt8], key: [UInt8]) -> [UInt8]? { [0] }
    func randomBytes(_ count: Int) -> [UInt8]? { [UInt8](repeating: 0, count: count) }
    func encrypt(_ plaintext: [UInt8], _ cipher: PayloadCipher, key: [UInt8], iv: [UInt8]) -> [UInt8]? { plaintext }
    func decrypt(_ ciphertext: [UInt8], _ cipher: PayloadCipher, key: [UInt8], iv: [UInt8]) -> [UInt8]? { ciphertext }
}
