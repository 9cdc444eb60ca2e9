/// How the payload of a request is encrypted.
package enum PayloadEncryption: String, Hashable, Sendable, CaseIterable {
    case plain = "none"
    case cbc, gcm, des, aes
}
