import HTTPDNS

/// The fleet's secret, and what is derived of it for each question.
///
/// A key of its own for each question: a random nonce of 96 bits may then be chosen as often as a fleet asks, while under
/// one key 2^32 of them would be the limit (NIST SP 800-38D section 8.3). And a name in Redis that is a keyed digest: of
/// one length whatever the question, equal for no two, and nothing that a reader of Redis could tell a name by, or the
/// network of the clients that asked for it.
struct SharedKeys: Sendable {
    /// Bytes of the secret.
    static let length = 32
    /// Bytes of the digest in a name.
    private static let nameLength = 16

    private let secret: [UInt8]

    /// Nil unless the secret has `length` bytes.
    init?(secret: [UInt8]) {
        guard secret.count == Self.length else { return nil }
        self.secret = secret
    }

    /// The name of the question's value; nil without HMAC-SHA256 in the library.
    func name(of question: SharedQuestion) -> [UInt8]? {
        digest("name", question).map { Array(TextEncoding.hexadecimal($0.prefix(Self.nameLength)).utf8) }
    }

    /// The key of 256 bits that seals answers to the question.
    func sealingKey(for question: SharedQuestion) -> [UInt8]? { digest("seal", question) }

    private func digest(_ purpose: String, _ question: SharedQuestion) -> [UInt8]? {
        OpenSSLCrypto().hmacSHA256(Array("httpdnsd \(purpose) ".utf8) + question.bytes, key: secret)
    }
}
