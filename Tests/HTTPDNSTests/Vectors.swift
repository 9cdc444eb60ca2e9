import DNSWire
import HTTPDNS
import Testing
import Upstreams

/// A valid name; the root, and a failed test, when it is not.
func name(_ text: String) -> Name {
    do {
        return try Name(text)
    } catch {
        Issue.record("\(text): \(error)")
        return .root
    }
}

/// Bytes from hexadecimal digits; spaces and line ends are ignored.
func hex(_ text: String) -> [UInt8] {
    let digits = text.compactMap(\.hexDigitValue)
    return stride(from: 0, to: digits.count - 1, by: 2).map { UInt8(digits[$0] << 4 | digits[$0 + 1]) }
}

/// The real cryptography with IVs that count up from 0, as in the vectors.
struct CountingIVs: Crypto {
    private let crypto = OpenSSLCrypto()

    func md5(_ bytes: [UInt8]) -> [UInt8]? { crypto.md5(bytes) }
    func sha256(_ bytes: [UInt8]) -> [UInt8]? { crypto.sha256(bytes) }
    func hmacSHA256(_ bytes: [UInt8], key: [UInt8]) -> [UInt8]? { crypto.hmacSHA256(bytes, key: key) }
    func randomBytes(_ count: Int) -> [UInt8]? { (0..<count).map { UInt8($0) } }

    func encrypt(_ plaintext: [UInt8], _ cipher: PayloadCipher, key: [UInt8], iv: [UInt8]) -> [UInt8]? {
        crypto.encrypt(plaintext, cipher, key: key, iv: iv)
    }

    func decrypt(_ ciphertext: [UInt8], _ cipher: PayloadCipher, key: [UInt8], iv: [UInt8]) -> [UInt8]? {
        crypto.decrypt(ciphertext, cipher, key: key, iv: iv)
    }
}

typealias ProviderOutcome = Result<UpstreamResults, UpstreamFailure>

extension ProviderOutcome {
    /// Whether the reply means nothing, whatever the reason.
    var isUnusable: Bool { if case .failure(.unusable) = self { true } else { false } }
}

extension PayloadBox {
    static func cbc(_ key: Secret) -> PayloadBox { .cbc(key, CountingIVs()) }
    static func gcm(_ key: Secret) -> PayloadBox { .gcm(key, CountingIVs()) }
    static func des(_ key: Secret) -> PayloadBox { .des(key, CountingIVs()) }
    static func aes(_ key: Secret) -> PayloadBox { .aes(key, CountingIVs()) }
}

/// A result with these addresses of `www.example.com`.
func addresses(_ texts: [String], ttl: UInt32) -> UpstreamResult {
    .answer(Answer(name: name("www.example.com"), addresses: texts.compactMap { IPAddress($0) }, ttl: ttl))
}

/// The answer of a reply that has results of this type alone; nil: it has none, or others.
func onlyAnswer(_ outcome: ProviderOutcome, _ type: RecordType = .a) -> Answer? {
    guard case .success(let results) = outcome, case .answer(let answer) = results[type],
        results.map(\.type) == [type]
    else { return nil }
    return answer
}
