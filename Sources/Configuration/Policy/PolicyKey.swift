import HTTPDNS

/// The public key that signed policies are verified with: Ed25519 (RFC 8032).
package struct PolicyKey: Hashable, Sendable {
    /// Bytes of a key, and of a signature.
    package static let (length, signatureLength) = (32, 64)

    /// 32 bytes.
    package let bytes: [UInt8]

    /// Nil unless there are 32 bytes.
    package init?(bytes: [UInt8]) {
        guard bytes.count == Self.length else { return nil }
        self.bytes = bytes
    }

    /// Nil for anything but 32 bytes in base64.
    package init?(_ text: some StringProtocol) {
        guard let bytes = TextDecoding.base64(String(text)) else { return nil }
        self.init(bytes: bytes)
    }

    /// The first 8 characters of its text: enough to tell keys apart, and no more is needed of it.
    package var id: String { String(description.prefix(8)) }
}

extension PolicyKey: CustomStringConvertible {
    /// 44 characters of base64.
    package var description: String { TextEncoding.base64(bytes) }
}

extension Kind where Value == PolicyKey {
    static var policyKey: Kind {
        .text(
            "Ed25519 public key", range: "44 characters of base64", expected: "a public key in quotes",
            parse: { text throws(ValueProblem) in
                if let key = PolicyKey(text) { return key }
                guard let bytes = TextDecoding.base64(text) else {
                    throw ValueProblem("is not base64; write the line that `httpdnsd policy keygen` printed")
                }
                throw ValueProblem(
                    "has \(bytes.count) bytes, and an Ed25519 public key has \(PolicyKey.length); write the line that"
                        + " `httpdnsd policy keygen` printed")
            }, write: { written($0.description) })
    }
}
