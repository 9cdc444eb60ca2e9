import HTTPDNS

extension Configuration.ProviderEntry {
    /// Fills in the cipher that the type uses, and checks that its key is there and fits. After this the cipher is set for
    /// `aliyun-v2` and `tencent`, and for no other type.
    mutating func completeEncryption(at path: SettingPath, _ reading: Reading) {
        let place = path.appending(key: "encryption")
        guard let choices = type.descriptor.encryptions(region) else {
            for (key, isSet) in [("encryption", encryption != nil), ("encryption_key", encryptionKey != nil)]
            where isSet {
                reading.warn(
                    path.appending(key: key), "has no effect: a provider of type \(type.rawValue) encrypts nothing")
            }
            encryption = nil
            return
        }
        guard reading.isSound(place) else { return }
        let chosen = encryption ?? type.descriptor.usualEncryption(self)
        guard choices.contains(chosen) else {
            let list = choices.map { quoted($0.rawValue) }.joined(separator: ", ")
            return reading.fail(place, "must be one of \(list) for a provider of type \(type.rawValue)")
        }
        encryption = chosen
        checkEncryptionKey(for: chosen, at: path, reading)
    }

    private func checkEncryptionKey(for encryption: PayloadEncryption, at path: SettingPath, _ reading: Reading) {
        let place = path.appending(key: "encryption_key")
        guard reading.isSound(place), !reading.isMisspelt(place) else { return }
        guard let key = encryptionKey?.value else {
            guard encryption != .plain else { return }
            let way =
                type.descriptor.encryptions(region)?.contains(.plain) == true ? " (or write encryption = \"none\")" : ""
            return reading.fail(
                place,
                "is missing: a provider of type \(type.rawValue) needs the account's key for encryption \(quoted(encryption.rawValue))\(way)"
            )
        }
        if let problem = encryption.problem(of: key) {
            reading.fail(place, "\(problem) for encryption \(quoted(encryption.rawValue))")
        }
        if encryption == .plain { reading.warn(place, "has no effect: encryption is \"none\"") }
    }
}

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
