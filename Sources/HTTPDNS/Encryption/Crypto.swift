import DNSWire

/// The cryptography that services need, a protocol so that this target stays free of C.
///
/// Functions return nil for what cannot be done: an algorithm missing in the library, as in FIPS mode, or a key of the
/// wrong length.
public protocol Crypto: Sendable {
    /// The MD5 digest of `bytes`, 16 bytes (RFC 1321); services sign with it.
    func md5(_ bytes: [UInt8]) -> [UInt8]?

    /// The SHA-256 digest of `bytes`, 32 bytes (FIPS 180-4); AliDNS signs with it.
    func sha256(_ bytes: [UInt8]) -> [UInt8]?

    /// The HMAC-SHA256 of `bytes`, 32 bytes (RFC 2104); Aliyun's v2 signs with it.
    func hmacSHA256(_ bytes: [UInt8], key: [UInt8]) -> [UInt8]?

    /// `count` unpredictable bytes, for the IVs of ciphers.
    func randomBytes(_ count: Int) -> [UInt8]?

    /// Encrypts; with `aes128GCM` the tag follows the ciphertext. `cipher.ivLength` bytes of IV, never used twice with a
    /// key.
    func encrypt(_ plaintext: [UInt8], _ cipher: PayloadCipher, key: [UInt8], iv: [UInt8]) -> [UInt8]?

    /// Decrypts. Nil also for a wrong key, padding or tag.
    func decrypt(_ ciphertext: [UInt8], _ cipher: PayloadCipher, key: [UInt8], iv: [UInt8]) -> [UInt8]?
}

extension Crypto {
    /// The MD5 digest of a text in hexadecimal digits, as Aliyun's signatures have it.
    func md5Digits(_ text: String) throws(UpstreamFailure) -> String {
        guard let digest = md5(Array(text.utf8)) else { throw Self.missing("MD5") }
        return TextEncoding.hexadecimal(digest)
    }

    /// The same with SHA-256, as AliDNS's signatures have it.
    func sha256Digits(_ text: String) throws(UpstreamFailure) -> String {
        guard let digest = sha256(Array(text.utf8)) else { throw Self.missing("SHA-256") }
        return TextEncoding.hexadecimal(digest)
    }

    /// - Parameter algorithm: what the library has not.
    static func missing(_ algorithm: String) -> UpstreamFailure {
        .unusable("no \(algorithm) in this system's libcrypto, and requests are signed with it")
    }
}

/// The ciphers of queries to services and of their responses.
public enum PayloadCipher: String, Hashable, Sendable, CaseIterable {
    /// CBC mode (NIST SP 800-38A) with PKCS #7 padding (RFC 5652 section 6.3). Not authenticated: a changed ciphertext
    /// decrypts to a changed text.
    case aes128CBC = "AES-128-CBC"
    /// GCM (NIST SP 800-38D) without additional data, with a tag of 16 bytes, which cannot be made without the key.
    case aes128GCM = "AES-128-GCM"
    /// ECB mode with PKCS #5 padding. Its key of 56 bits can be found by brute force.
    case desECB = "DES-ECB"

    /// Bytes of the key.
    public var keyLength: Int {
        switch self {
        case .aes128CBC, .aes128GCM: 16
        case .desECB: 8
        }
    }

    /// Bytes of the IV.
    public var ivLength: Int {
        switch self {
        case .aes128CBC: 16
        case .aes128GCM: 12
        case .desECB: 0
        }
    }
}

/// How services encrypt the payload of requests and replies, as they and configurations name it.
public enum PayloadEncryption: String, Hashable, Sendable, CaseIterable {
    case plain = "none"
    /// Aliyun's v2: AES-128-CBC, and AES-128-GCM. Keys are 32 hexadecimal digits.
    case cbc, gcm
    /// Tencent's: DES-ECB with the first 8 bytes of the key's text, and AES-128-CBC with its 16.
    case des, aes
}

/// Encrypts queries to a service and decrypts its responses. The format of Aliyun and Tencent: IV, ciphertext, and the
/// tag if the cipher has one.
public struct PayloadBox: Sendable {
    let encryption: PayloadEncryption
    private let cipher: PayloadCipher
    private let key: Secret
    private let crypto: any Crypto

    private init(_ encryption: PayloadEncryption, _ cipher: PayloadCipher, _ key: Secret, _ crypto: any Crypto) {
        (self.encryption, self.cipher, self.key, self.crypto) = (encryption, cipher, key, crypto)
    }

    /// A response can be changed without the key.
    public static func cbc(_ key: Secret, _ crypto: any Crypto) -> PayloadBox { .init(.cbc, .aes128CBC, key, crypto) }
    /// A response cannot be made without the key, but it can be replayed at any time.
    public static func gcm(_ key: Secret, _ crypto: any Crypto) -> PayloadBox { .init(.gcm, .aes128GCM, key, crypto) }
    /// As with `cbc`.
    public static func des(_ key: Secret, _ crypto: any Crypto) -> PayloadBox { .init(.des, .desECB, key, crypto) }
    /// As with `cbc`.
    public static func aes(_ key: Secret, _ crypto: any Crypto) -> PayloadBox { .init(.aes, .aes128CBC, key, crypto) }

    /// Nil for `plain`, and without a cipher or a key.
    public init?(_ encryption: PayloadEncryption?, key: Secret?, crypto: any Crypto) {
        guard let key else { return nil }
        switch encryption {
        case .cbc?: self = .cbc(key, crypto)
        case .gcm?: self = .gcm(key, crypto)
        case .des?: self = .des(key, crypto)
        case .aes?: self = .aes(key, crypto)
        case .plain?, nil: return nil
        }
    }

    /// The same key in Aliyun's GCM.
    var withGCM: PayloadBox { .gcm(key, crypto) }

    /// The key's bytes; of wrong length for a text not in this form: then nothing is encrypted.
    private var keyBytes: [UInt8] {
        encryption == .cbc || encryption == .gcm
            ? TextDecoding.hexadecimal(key.value) ?? [] : Array(key.value.utf8.prefix(cipher.keyLength))
    }

    func seal(_ plaintext: [UInt8]) throws(UpstreamFailure) -> [UInt8] {
        guard let iv = crypto.randomBytes(cipher.ivLength),
            let ciphertext = crypto.encrypt(plaintext, cipher, key: keyBytes, iv: iv)
        else {
            throw .unusable("no \(cipher.rawValue) in this system's libcrypto, and requests are encrypted with it")
        }
        return iv + ciphertext
    }

    /// Throws the same failure whatever is wrong, so that it is no padding oracle.
    func open(_ bytes: [UInt8]?) throws(UpstreamFailure) -> [UInt8] {
        guard let bytes, bytes.count >= cipher.ivLength,
            let plaintext = crypto.decrypt(
                Array(bytes.dropFirst(cipher.ivLength)), cipher, key: keyBytes,
                iv: Array(bytes.prefix(cipher.ivLength)))
        else { throw .unusable("the reply cannot be decrypted: another key, or it was changed on the way") }
        return plaintext
    }
}

/// A key or token, hidden in logs, error texts and debugger dumps.
public struct Secret: Hashable, Sendable {
    /// The text itself; used only for signatures and headers.
    public let value: String

    public init(_ value: String) { self.value = value }
}

extension Secret: CustomStringConvertible, CustomDebugStringConvertible, CustomReflectable {
    public var description: String { "(secret)" }
    public var debugDescription: String { description }
    /// Without children, so that `dump` and mirrors of values that contain a secret show nothing.
    public var customMirror: Mirror { Mirror(self, children: []) }
}

/// The times of signatures.
enum SignatureExpiry {
    /// What ten digits hold, in seconds since 1970.
    static let times: ClosedRange<Int64> = 0...9_999_999_999
    /// In seconds; the service accepts up to 86,400, and its own SDKs use 600.
    private static let usualLifetime: Int64 = 600

    /// Seconds since 1970: ten digits, whatever the clock.
    static func text(at time: Int64, lifetime: Int64 = usualLifetime) -> String {
        String(min(max(time, 1_000_000_000), 9_999_999_999 - lifetime) + lifetime)
    }
}
