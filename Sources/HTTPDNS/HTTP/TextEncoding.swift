/// Encodes bytes as text, for URLs and for people.
public enum TextEncoding {
    /// Two lower-case hexadecimal digits per byte.
    public static func hexadecimal(_ bytes: some Sequence<UInt8>) -> String {
        String(decoding: hexadecimalDigits(Array(bytes)), as: UTF8.self)
    }

    /// The same as ASCII. Not generic, since what is generic is not specialized for another module.
    public static func hexadecimalDigits(_ bytes: [UInt8]) -> [UInt8] {
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
    public static func base64(_ bytes: [UInt8]) -> String {
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
    public static func percent(_ text: String) -> String {
        let digits = Array("0123456789ABCDEF".utf8)
        let encoded = text.utf8.flatMap { byte -> [UInt8] in
            byte.isWordByte || ".~".utf8.contains(byte)
                ? [byte] : [UInt8(ascii: "%"), digits[Int(byte >> 4)], digits[Int(byte & 15)]]
        }
        return String(decoding: encoded, as: UTF8.self)
    }
}

/// Decodes bytes from the text encodings of services. The input is hostile.
public enum TextDecoding {
    /// Two hexadecimal digits per byte, in either letter case; nil for anything else.
    public static func hexadecimal(_ text: some StringProtocol) -> [UInt8]? {
        let digits = Array(text.utf8)
        guard digits.count.isMultiple(of: 2) else { return nil }
        var bytes: [UInt8] = []
        bytes.reserveCapacity(digits.count / 2)
        for index in stride(from: 0, to: digits.count, by: 2) {
            guard let high = nibble(digits[index]), let low = nibble(digits[index + 1]) else { return nil }
            bytes.append(high << 4 | low)
        }
        return bytes
    }

    /// Percent-encoding undone (RFC 3986 section 2.1); nil for a percent sign without its two digits.
    public static func percent(_ text: some Sequence<UInt8>) -> [UInt8]? {
        var bytes: [UInt8] = []
        var rest = text.makeIterator()
        while let byte = rest.next() {
            guard byte == UInt8(ascii: "%") else {
                bytes.append(byte)
                continue
            }
            guard let high = rest.next().flatMap(nibble), let low = rest.next().flatMap(nibble) else { return nil }
            bytes.append(high << 4 | low)
        }
        return bytes
    }

    private static func nibble(_ byte: UInt8) -> UInt8? {
        Character(Unicode.Scalar(byte)).hexDigitValue.map { UInt8($0) }
    }

    /// Base64 with the standard alphabet and padding (RFC 4648 section 4); line ends are ignored, as in MIME. Nil for
    /// anything else.
    public static func base64(_ text: String) -> [UInt8]? {
        let text = text.utf8.filter { $0 != UInt8(ascii: "\r") && $0 != UInt8(ascii: "\n") }
        let digits = text.prefix { $0 != UInt8(ascii: "=") }
        let padding = text.dropFirst(digits.count)
        guard padding.count == (4 - digits.count % 4) % 4, padding.allSatisfy({ $0 == UInt8(ascii: "=") }) else {
            return nil
        }
        return base64(digits, UInt8(ascii: "+"), UInt8(ascii: "/"), isStrict: false)
    }

    /// Base64 with the URL alphabet and without padding (RFC 4648 section 5), in which a DNS message comes in a target (RFC
    /// 8484 section 6); nil for anything else, and when its last bits are not zero.
    public static func base64URL(_ text: ArraySlice<UInt8>) -> [UInt8]? {
        base64(text, UInt8(ascii: "-"), UInt8(ascii: "_"), isStrict: true)
    }

    /// With these digits for 62 and 63; where it is strict, the bits behind the last byte must be zero.
    private static func base64(_ digits: ArraySlice<UInt8>, _ plus: UInt8, _ slash: UInt8, isStrict: Bool) -> [UInt8]? {
        guard digits.count % 4 != 1 else { return nil }
        var bytes: [UInt8] = []
        bytes.reserveCapacity(digits.count / 4 * 3 + 2)
        var (bits, count): (UInt32, UInt32) = (0, 0)
        for digit in digits {
            switch digit {
            case UInt8(ascii: "A")...UInt8(ascii: "Z"): bits = bits << 6 | UInt32(digit - UInt8(ascii: "A"))
            case UInt8(ascii: "a")...UInt8(ascii: "z"): bits = bits << 6 | UInt32(digit - UInt8(ascii: "a") + 26)
            case UInt8(ascii: "0")...UInt8(ascii: "9"): bits = bits << 6 | UInt32(digit - UInt8(ascii: "0") + 52)
            case plus: bits = bits << 6 | 62
            case slash: bits = bits << 6 | 63
            default: return nil
            }
            count += 6
            guard count >= 8 else { continue }
            count -= 8
            bytes.append(UInt8(truncatingIfNeeded: bits >> count))
            bits &= 1 << count - 1
        }
        return isStrict && bits != 0 ? nil : bytes
    }
}

extension UInt8 {
    /// Whether this is an ASCII letter, a digit, a hyphen or an underscore, of which host names, keys and error codes consist.
    public var isWordByte: Bool {
        switch self {
        case UInt8(ascii: "A")...UInt8(ascii: "Z"), UInt8(ascii: "a")...UInt8(ascii: "z"),
            UInt8(ascii: "0")...UInt8(ascii: "9"), UInt8(ascii: "-"), UInt8(ascii: "_"):
            true
        default: false
        }
    }
}

/// Parses HTTP's date format: `Tue, 14 Nov 2023 22:13:20 GMT` (RFC 9110 section 5.6.7).
public enum HTTPDate {
    private static let length = 29
    /// The three letters of each.
    private static let months: [UInt32] = [
        0x4a_616e, 0x46_6562, 0x4d_6172, 0x41_7072, 0x4d_6179, 0x4a_756e, 0x4a_756c, 0x41_7567, 0x53_6570, 0x4f_6374,
        0x4e_6f76, 0x44_6563,
    ]

    /// Seconds since 1970; nil for any other format. The day of the week is ignored.
    public static func seconds(_ text: Span<UInt8>) -> Int64? {
        guard text.count == length else { return nil }
        guard text[3] == UInt8(ascii: ","), text[19] == UInt8(ascii: ":"), text[22] == UInt8(ascii: ":"),
            text[26] == UInt8(ascii: "G"), text[27] == UInt8(ascii: "M"), text[28] == UInt8(ascii: "T"),
            let month = months.firstIndex(of: UInt32(text[8]) << 16 | UInt32(text[9]) << 8 | UInt32(text[10])),
            let day = number(text, 5, digits: 2), (1...31).contains(day), let year = number(text, 12, digits: 4),
            let hour = number(text, 17, digits: 2), hour < 24, let minute = number(text, 20, digits: 2), minute < 60,
            let second = number(text, 23, digits: 2), second <= 60
        else { return nil }
        return daysBefore(year, Int64(month) + 1, day) * 86_400 + hour * 3_600 + minute * 60 + second
    }

    private static func number(_ text: Span<UInt8>, _ offset: Int, digits: Int) -> Int64? {
        var value: Int64 = 0
        for place in offset..<(offset + digits) {
            guard (48...57).contains(text[place]) else { return nil }
            value = value * 10 + Int64(text[place] - 48)
        }
        return value
    }

    /// Days from 1970-01-01 to a date of the Gregorian calendar, computed with years that begin in March.
    public static func daysBefore(_ year: Int64, _ month: Int64, _ day: Int64) -> Int64 {
        let years = month > 2 ? year : year - 1
        let days = (153 * ((month + 9) % 12) + 2) / 5 + day - 1
        return years * 365 + years / 4 - years / 100 + years / 400 + days - 719_468
    }
}

/// Whether two texts are equal, in a time that depends on their lengths alone.
func areEqual(_ one: String, _ other: String) -> Bool { areEqual(Array(one.utf8), Array(other.utf8)[...]) }

/// The same of texts as bytes.
public func areEqual(_ one: [UInt8], _ other: ArraySlice<UInt8>) -> Bool {
    guard one.count == other.count else { return false }
    var differences: UInt8 = 0
    for (byte, expected) in zip(one, other) { differences |= byte ^ expected }
    return differences == 0
}
