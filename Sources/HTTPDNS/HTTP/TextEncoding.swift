/// Encodes bytes as text, for URLs and for people.
package enum TextEncoding {
    /// Two lower-case hexadecimal digits per byte.
    package static func hexadecimal(_ bytes: some Sequence<UInt8>) -> String {
        String(decoding: hexadecimalDigits(Array(bytes)), as: UTF8.self)
    }

    /// The same as ASCII. Not generic, since what is generic is not specialized for another module.
    package static func hexadecimalDigits(_ bytes: [UInt8]) -> [UInt8] {
        var digits: [UInt8] = []
        digits.reserveCapacity(bytes.count * 2)
        for byte in bytes {
            digits.append(digit(byte >> 4))
            digits.append(digit(byte & 15))
        }
        return digits
    }

    private static func digit(_ value: UInt8) -> UInt8 {
        value < 10 ? UInt8(ascii: "0") | value : UInt8(ascii: "a") &+ (value &- 10)
    }

    /// Base64 with the URL alphabet and without padding (RFC 4648 section 5), as RFC 8484 section 6 requires.
    static func base64URL(_ bytes: [UInt8]) -> String { base64(bytes, lastDigits: "-_") }

    /// Base64 with the standard alphabet and padding (RFC 4648 section 4).
    package static func base64(_ bytes: [UInt8]) -> String {
        var text = base64(bytes, lastDigits: "+/")
        while !text.utf8.count.isMultiple(of: 4) { text += "=" }
        return text
    }

    private static func base64(_ bytes: [UInt8], lastDigits: String) -> String {
        let alphabet = Array("ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789\(lastDigits)".utf8)
        var text: [UInt8] = []
        text.reserveCapacity(bytes.count / 3 * 4 + 4)
        for start in stride(from: 0, to: bytes.count, by: 3) {
            let group = bytes[start..<min(start + 3, bytes.count)]
            let bits = group.reduce(0) { $0 << 8 | Int($1) } << (8 * (3 - group.count))
            for index in 0...group.count { text.append(alphabet[bits >> (18 - 6 * index) & 63]) }
        }
        return String(decoding: text, as: UTF8.self)
    }

    /// Every byte except the unreserved characters of RFC 3986 section 2.3 as `%XX`.
    package static func percent(_ text: String) -> String {
        let digits = Array("0123456789ABCDEF".utf8)
        let encoded = text.utf8.flatMap { byte -> [UInt8] in
            switch byte {
            case UInt8(ascii: "A")...UInt8(ascii: "Z"), UInt8(ascii: "a")...UInt8(ascii: "z"),
                UInt8(ascii: "0")...UInt8(ascii: "9"), UInt8(ascii: "-"), UInt8(ascii: "."), UInt8(ascii: "_"),
                UInt8(ascii: "~"):
                [byte]
            default:
                [UInt8(ascii: "%"), digits[Int(byte >> 4)], digits[Int(byte & 15)]]
            }
        }
        return String(decoding: encoded, as: UTF8.self)
    }
}
