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
