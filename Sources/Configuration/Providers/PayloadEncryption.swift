import HTTPDNS

/// How the payload of a request is encrypted.
package enum PayloadEncryption: String, Hashable, Sendable, CaseIterable {
    case plain = "none"
    case cbc, gcm, des, aes
}

extension PayloadEncryption {
    /// What is wrong with a key's text for this cipher; nil when it fits.
    func problem(of key: String) -> String? {
        switch self {
        case .plain: nil
        case .cbc, .gcm:
            TextDecoding.hexadecimal(key)?.count == PayloadCipher.aes128GCM.keyLength
                ? nil : "must be 32 hexadecimal digits"
        case .des: key.utf8.count >= PayloadCipher.desECB.keyLength ? nil : "must have at least 8 characters"
        case .aes: key.utf8.count == PayloadCipher.aes128CBC.keyLength ? nil : "must have exactly 16 characters"
        }
    }
}
