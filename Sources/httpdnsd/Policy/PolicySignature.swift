import Configuration
import Upstreams

extension PolicyKey {
    /// Whether a signature of `text` is of `key`; safe to call from any thread.
    @Sendable static func check(_ text: ArraySlice<UInt8>, _ signature: [UInt8], _ key: PolicyKey) -> Bool {
        Ed25519.isValid(signature, of: text, publicKey: key.bytes)
    }
}
