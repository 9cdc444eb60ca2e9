import Configuration
import Glibc
import HTTPDNS
import Platform
import Upstreams

/// The key that signs policies, in a file that only its owner can read: one line of base64.
struct PolicySecretKey {
    /// Longer files are no keys.
    private static let longest = 256

    private let bytes: [UInt8]
    let publicKey: PolicyKey

    private init?(bytes: [UInt8]) {
        guard let key = Ed25519.publicKey(of: bytes).flatMap({ PolicyKey(bytes: $0) }) else { return nil }
        self.bytes = bytes
        publicKey = key
    }

    /// Makes a key and its file, mode 0600, which must not be there yet.
    static func make(_ path: String) throws(SystemError) -> PolicySecretKey {
        guard let bytes = Ed25519.newKey(), let key = PolicySecretKey(bytes: bytes) else {
            throw SystemError(code: ENOSYS, operation: "make a key", advice: "libcrypto has no Ed25519")
        }
        do throws(SystemError) {
            try createFile(path, Array((TextEncoding.base64(bytes) + "\n").utf8), mode: 0o600)
        } catch {
            guard error.code == EEXIST else { throw error }
            throw SystemError(code: EEXIST, operation: error.operation, advice: "a key is never overwritten")
        }
        return key
    }

    /// Reads a key from its file.
    ///
    /// - Throws: one line for people.
    static func read(_ path: String) throws(PolicyFault) -> PolicySecretKey {
        let content: [UInt8]
        do throws(SystemError) {
            content = try readFile(path, limit: longest)
        } catch {
            throw PolicyFault("\(path): cannot be read: \(error.reason)")
        }
        guard let bytes = TextDecoding.base64(String(decoding: content, as: UTF8.self)),
            let key = PolicySecretKey(bytes: bytes)
        else { throw PolicyFault("\(path): holds no key; `httpdnsd policy keygen` makes one") }
        return key
    }

    /// A signed file of a text; nil when the library has no Ed25519.
    func signed(_ text: ArraySlice<UInt8>) -> [UInt8]? {
        Ed25519.signature(of: text, privateKey: bytes).map {
            PolicyEnvelope.bytes(text, signature: $0, key: publicKey)
        }
    }
}

/// Why something cannot be done, as one line for people.
struct PolicyFault: CommandError {
    let text: String
    var lines: [String] { [text] }

    init(_ text: String) { self.text = text }
}

extension PolicyKey {
    /// Whether a signature of `text` is of `key`; safe to call from any thread.
    @Sendable static func check(_ text: ArraySlice<UInt8>, _ signature: [UInt8], _ key: PolicyKey) -> Bool {
        Ed25519.isValid(signature, of: text, publicKey: key.bytes)
    }
}
