import HTTPDNS

/// A signed policy as it is stored and sent: a first line with the signature of all bytes after that line.
///
/// `#httpdnsd-policy 1 KEYID SIGNATURE`, a comment of TOML, so that lines are counted in both alike.
package struct PolicyEnvelope: Equatable, Sendable {
    /// The most bytes, the first line included: 4 MiB.
    package static let maximumSize = 4 << 20
    private static let mark = Array("#httpdnsd-policy ".utf8)
    private static let version = "1"
    /// The longest first line, with room to spare.
    private static let longestHeader = 256

    /// Which key has signed, as the first line says.
    package let keyID: String
    /// 64 bytes.
    package let signature: [UInt8]
    /// The signed bytes.
    package let text: ArraySlice<UInt8>

    /// Reads the first line; verifies nothing.
    ///
    /// - Throws: the end of a sentence about the file.
    package init(_ bytes: [UInt8]) throws(ValueProblem) {
        guard bytes.count <= Self.maximumSize else {
            throw ValueProblem("is larger than \(SizeText.write(Self.maximumSize))")
        }
        guard bytes.starts(with: Self.mark) else {
            throw ValueProblem(
                "is not signed: its first line is not #httpdnsd-policy ... (`httpdnsd policy sign` makes it)")
        }
        guard let end = bytes.prefix(Self.longestHeader).firstIndex(of: UInt8(ascii: "\n")) else {
            throw ValueProblem("has a first line without an end")
        }
        let fields = String(decoding: bytes[Self.mark.count..<end], as: UTF8.self)
            .split(separator: " ", omittingEmptySubsequences: false)
        guard fields.first == Self.version[...] else {
            throw ValueProblem("is of another version than \(Self.version), the only one that this release knows")
        }
        guard fields.count == 3, !fields[1].isEmpty, fields[1].utf8.allSatisfy({ (0x21...0x7e).contains($0) }),
            let signature = TextDecoding.base64(String(fields[2])), signature.count == PolicyKey.signatureLength
        else { throw ValueProblem("has a damaged first line; it is #httpdnsd-policy 1 KEYID SIGNATURE") }
        keyID = String(fields[1])
        self.signature = signature
        text = bytes[bytes.index(after: end)...]
    }

    /// The bytes that are signed in a file which may be signed already.
    package static func text(of bytes: [UInt8]) -> ArraySlice<UInt8> {
        guard bytes.starts(with: mark), let end = bytes.firstIndex(of: UInt8(ascii: "\n")) else { return bytes[...] }
        return bytes[bytes.index(after: end)...]
    }

    /// A file of a text and its signature.
    package static func bytes(_ text: ArraySlice<UInt8>, signature: [UInt8], key: PolicyKey) -> [UInt8] {
        mark + Array("\(version) \(key.id) \(TextEncoding.base64(signature))\n".utf8) + text
    }
}

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
