import DNSWire

/// A name in the form of the proprietary services: letters, digits, hyphens and underscores between dots.
///
/// Aliyun's SDKs check the same before a request; for any other byte the service would return `InvalidHost`.
enum HostText {
    /// The text without the final dot; throws for the root, for other bytes, and for text that is an address.
    static func of(_ name: Name) throws(UpstreamFailure) -> String {
        guard !name.isRoot else { throw .rejected("the root is no host name") }
        var bytes = Array(name.wire[1..<(name.wire.count - 1)])
        var length = Int(name.wire[0])
        for index in bytes.indices {
            if index == length {
                length += 1 + Int(bytes[index])
                bytes[index] = UInt8(ascii: ".")
            } else if !isHostByte(bytes[index]) {
                throw .rejected("a name with other bytes than letters, digits, hyphens and underscores")
            }
        }
        let text = String(decoding: bytes, as: UTF8.self)
        // An address without colons ends with a digit.
        let mayBeAddress = bytes.last.map { (UInt8(ascii: "0")...UInt8(ascii: "9")).contains($0) } ?? false
        guard !mayBeAddress || IPAddress(text) == nil else { throw .rejected("an address is no host name") }
        return text
    }

    /// Whether a service's text is `name`, regardless of letter case and a final dot.
    static func matches(_ text: String, _ name: Name) -> Bool { repeats(text, name) || (try? Name(text)) == name }

    /// Whether a text is identical to the name, the usual case.
    private static func repeats(_ text: String, _ name: Name) -> Bool {
        let wire = name.wire
        guard text.utf8.count == wire.count - 2 else { return false }
        var (index, length) = (1, 1 + Int(wire[0]))
        for byte in text.utf8 {
            if index == length {
                guard byte == UInt8(ascii: ".") else { return false }
                length += 1 + Int(wire[index])
            } else {
                guard byte == wire[index], isHostByte(byte) else { return false }
            }
            index += 1
        }
        return true
    }

    private static func isHostByte(_ byte: UInt8) -> Bool {
        switch byte {
        case UInt8(ascii: "A")...UInt8(ascii: "Z"), UInt8(ascii: "a")...UInt8(ascii: "z"),
            UInt8(ascii: "0")...UInt8(ascii: "9"), UInt8(ascii: "-"), UInt8(ascii: "_"):
            true
        default: false
        }
    }
}
