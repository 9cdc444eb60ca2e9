import COpenSSL
import DNSResolver
import DNSWire
import HTTPDNS

/// The fleet's secret, and what is derived of it for each question.
///
/// A key of its own for each question: a random nonce of 96 bits may then be chosen as often as a fleet asks, while under
/// one key 2^32 of them would be the limit (NIST SP 800-38D section 8.3). And a name in Redis that is a keyed digest: of
/// one length whatever the question, equal for no two, and nothing that a reader of Redis could tell a name by, or the
/// network of the clients that asked for it.
@safe final class SharedKeys {
    /// Bytes of the secret.
    static let length = 32
    /// Bytes of the digest in a name, and of a key: different parts of one digest.
    private static let nameLength = 16
    /// What no question begins with (`SharedQuestion.version`).
    private static let count = Array("calls 1 ".utf8)

    /// Bytes of an HMAC-SHA512 (RFC 2104).
    private static let digestLength = 64

    private let prefix: [UInt8]
    /// libcrypto's HMAC under the secret: to make one for each digest costs more than the digest. Owned.
    private let hmac: OpaquePointer

    /// Nil unless the secret has `length` bytes, and where the library has no such digest. Names in Redis begin with
    /// `prefix`.
    init?(secret: [UInt8], prefix: [UInt8] = []) {
        guard secret.count == Self.length, let hmac = unsafe copenssl_hmac_create(secret, secret.count) else {
            ERR_clear_error()
            return nil
        }
        self.prefix = prefix
        unsafe self.hmac = unsafe hmac
    }

    deinit { unsafe EVP_MAC_CTX_free(hmac) }

    /// Where the answers to a question are; nil where the library fails.
    func place(of question: SharedQuestion) -> SharedPlace? { place(of: question.bytes) }

    /// Where the count of what has this name is, in Redis with its day or month; nil where the library fails.
    func count(of name: String, _ period: String) -> SharedPlace? {
        place(of: Self.count + Array("\(period) \(name)".utf8), suffix: Array(":\(period)".utf8))
    }

    private func place(of associated: [UInt8], suffix: [UInt8] = []) -> SharedPlace? {
        var digest = [UInt8](repeating: 0, count: Self.digestLength)
        guard unsafe copenssl_hmac(hmac, associated, associated.count, &digest) == 1 else {
            // An error left in the queue would be taken for one of the next TLS call.
            ERR_clear_error()
            return nil
        }
        return SharedPlace(
            name: prefix + TextEncoding.hexadecimalDigits(Array(digest.prefix(Self.nameLength))) + suffix,
            key: Array(digest.suffix(OpenSSLCrypto.sealingKeyLength)), associated: associated)
    }
}

/// Where a value is in Redis, and how it is sealed.
struct SharedPlace {
    /// The prefix and 32 characters; of a count, a colon and the period besides.
    let name: [UInt8]
    fileprivate let key: [UInt8]
    /// What the value is of: it opens nowhere else.
    fileprivate let associated: [UInt8]

    /// Nil where the library fails.
    func seal(_ text: [UInt8]) -> [UInt8]? { OpenSSLCrypto().seal(text, key: key, associated: associated) }

    /// Nil for what was not sealed for this place.
    func open(_ sealed: [UInt8]) -> [UInt8]? { OpenSSLCrypto().open(sealed, key: key, associated: associated) }
}

/// What a shared value answers: a name with one type, or with both families of addresses where a provider answers them
/// together. It is sealed for one of these, and is of no use for another.
struct SharedQuestion: Equatable {
    /// Of the format of all that is shared; part of the associated data too. Values of another version are no answers.
    static let version: UInt8 = 2

    /// Lower-cased.
    let name: Name
    /// One, or A and AAAA.
    let types: [RecordType]
    /// All that distinguishes it, in a form without ambiguity: the associated data of a seal.
    let bytes: [UInt8]

    /// - Parameters:
    ///   - types: one, or A and AAAA; what is asked of one provider together is always the same under one policy.
    ///   - policy: which providers may decide, and by which rules; always of one length.
    init(_ key: FlightKey, _ types: [RecordType], policy: [UInt8]) {
        name = key.name
        self.types = types
        // Shorter than 256 bytes: an address and its length.
        let scope = key.scope.map { Array(($0.network.map(Self.text) ?? "undisclosed").utf8) } ?? []
        let flags: UInt8 =
            (key.dnssecOK ? 1 : 0) | (key.checkingDisabled ? 2 : 0) | (types.count > 1 ? 4 : 0)
        var bytes = [Self.version] + policy
        bytes.append(types.first?.rawValue ?? 0, bytes: 2)
        bytes += [flags, UInt8(truncatingIfNeeded: scope.count)] + scope + key.name.wire
        self.bytes = bytes
    }

    private static func text(_ network: AddressPrefix) -> String { "\(network.address)/\(network.length)" }
}
