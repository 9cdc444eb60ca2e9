import DNSWire

/// A name as the proprietary services take it: letters, digits, hyphens and underscores between dots.
///
/// Aliyun's SDKs check the same before they ask; every other byte would only come back as `InvalidHost`.
enum HostText {
    /// The text without the final dot; throws for the root, for other bytes, and for what reads as an address.
    static func of(_ name: Name) throws(ServiceFailure) -> String {
        guard !name.isRoot else { throw .rejected("the root is no host name") }
        guard name.labels.allSatisfy({ $0.allSatisfy(isHostByte) }) else {
            throw .rejected("a name with other bytes than letters, digits, hyphens and underscores")
        }
        let text = name.description
        guard IPAddress(text) == nil else { throw .rejected("an address is no host name") }
        return text
    }

    /// Whether a service's text means `name`: letter case and a final dot do not count.
    static func matches(_ text: String, _ name: Name) -> Bool { (try? Name(text)) == name }

    private static func isHostByte(_ byte: UInt8) -> Bool {
        switch byte {
        case UInt8(ascii: "A")...UInt8(ascii: "Z"), UInt8(ascii: "a")...UInt8(ascii: "z"),
            UInt8(ascii: "0")...UInt8(ascii: "9"), UInt8(ascii: "-"), UInt8(ascii: "_"):
            true
        default: false
        }
    }
}
