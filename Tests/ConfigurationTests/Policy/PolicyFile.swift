import Configuration
import DNSWire
import HTTPDNS
import Testing

/// A signed policy of the tests, with a signature that names its key and the length of the text instead of a real one.
struct PolicyFile {
    /// Two keys.
    static let keys = [UInt8(1), 2].compactMap { PolicyKey(bytes: [UInt8](repeating: $0, count: 32)) }

    var serial = 7
    var expires = "2030-01-31T00:00:00Z"
    /// More lines of `[document]`, and more tables.
    var lines = ""

    var text: [UInt8] {
        Array("[document]\nserial = \(serial)\nexpires = \(expires)\n\(lines)\n".utf8)
    }

    /// Signed with a key.
    func signed(_ key: PolicyKey = keys[0]) -> [UInt8] {
        PolicyEnvelope.bytes(text[...], signature: Self.signature(text[...], key), key: key)
    }

    private static func signature(_ text: ArraySlice<UInt8>, _ key: PolicyKey) -> [UInt8] {
        let sum = text.reduce(0) { ($0 &* 31 &+ Int($1)) & 0xff_ffff }
        return Array(
            (TextEncoding.hexadecimal(key.bytes.prefix(8)) + String(repeating: "\(sum + 0x100_0000)", count: 8)).utf8
                .prefix(64))
    }

    @Sendable static func check(_ text: ArraySlice<UInt8>, _ signature: [UInt8], _ key: PolicyKey) -> Bool {
        Self.signature(text, key) == signature
    }

    /// Opens a file that must be accepted.
    static func accepted(
        _ bytes: [UInt8], keys: [PolicyKey] = keys, at location: SourceLocation = #_sourceLocation
    ) throws -> SignedPolicy {
        do {
            return try SignedPolicy.open(bytes, file: "t.policy", keys: keys, check: check)
        } catch {
            Issue.record("refused: \(error)", sourceLocation: location)
            throw error
        }
    }

    /// The error lines of a file that must be refused.
    static func errors(
        _ bytes: [UInt8], keys: [PolicyKey] = keys, at location: SourceLocation = #_sourceLocation
    ) -> [String] {
        do {
            _ = try SignedPolicy.open(bytes, file: "t.policy", keys: keys, check: check)
            Issue.record("accepted", sourceLocation: location)
            return []
        } catch {
            return error.diagnostics.map(\.description)
        }
    }

    /// The policy of these lines.
    static func policy(_ lines: String, serial: Int = 7) throws -> SignedPolicy {
        try accepted(PolicyFile(serial: serial, lines: lines).signed())
    }
}
