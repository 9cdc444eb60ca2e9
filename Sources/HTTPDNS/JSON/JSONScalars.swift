package import DNSWire

extension JSONReader {
    /// Reads a string (RFC 8259 section 7) and decodes its escape sequences.
    package mutating func string() throws(JSONError) -> String {
        try expect(.string)
        let start = offset
        offset += 1
        // Most strings are one run of ASCII: the validation of other text costs more than the rest.
        let (first, isASCII) = plainRun()
        if isASCII, offset < bytes.count, bytes[offset] == UInt8(ascii: "\"") {
            offset += 1
            if let plain = try? UTF8Span(validating: bytes.span.extracting(first)) { return String(copying: plain) }
        }
        offset = start + 1
        // The text before the last run, with escape sequences decoded.
        var text: [UInt8] = []
        while true {
            let (run, _) = plainRun()
            switch try peek() {
            case UInt8(ascii: "\""):
                offset += 1
                let string = String(validating: text + bytes[run], as: UTF8.self)
                guard let string else { throw JSONError(reason: .badUTF8, offset: start) }
                return string
            case UInt8(ascii: "\\"):
                text += bytes[run]
                text += String(try escape()).utf8
            default:
                throw fault(.unexpectedByte)
            }
        }
    }

    /// Skips the bytes of a string up to its end or the next escape sequence.
    private mutating func plainRun() -> (bytes: Range<Int>, isASCII: Bool) {
        let start = offset
        let (end, isASCII) = endOfPlainRun()
        offset = end
        return (start..<end, isASCII)
    }

    private func endOfPlainRun() -> (end: Int, isASCII: Bool) {
        let span = bytes.span
        var end = offset
        var all: UInt8 = 0
        while end < span.count {
            let byte = span[end]
            if byte == UInt8(ascii: "\"") || byte == UInt8(ascii: "\\") || byte < 0x20 { break }
            all |= byte
            end += 1
        }
        return (end, all < 0x80)
    }

    /// Reads one escape sequence, or two that form a surrogate pair.
    private mutating func escape() throws(JSONError) -> Unicode.Scalar {
        let start = offset
        offset += 1
        let byte = try peek()
        offset += 1
        switch byte {
        case UInt8(ascii: "\""), UInt8(ascii: "\\"), UInt8(ascii: "/"): return Unicode.Scalar(byte)
        case UInt8(ascii: "b"): return "\u{08}"
        case UInt8(ascii: "f"): return "\u{0c}"
        case UInt8(ascii: "n"): return "\n"
        case UInt8(ascii: "r"): return "\r"
        case UInt8(ascii: "t"): return "\t"
        case UInt8(ascii: "u"): break
        default: throw JSONError(reason: .badEscape, offset: start)
        }
        var value = UInt32(try codeUnit())
        if 0xd800..<0xdc00 ~= value {
            try take(UInt8(ascii: "\\"))
            try take(UInt8(ascii: "u"))
            let low = UInt32(try codeUnit())
            guard 0xdc00..<0xe000 ~= low else { throw JSONError(reason: .badEscape, offset: start) }
            value = 0x1_0000 + (value - 0xd800) << 10 + (low - 0xdc00)
        }
        // A low surrogate alone is no scalar.
        guard let scalar = Unicode.Scalar(value) else { throw JSONError(reason: .badEscape, offset: start) }
        return scalar
    }

    /// Reads the four hexadecimal digits of a `\u` escape.
    private mutating func codeUnit() throws(JSONError) -> UInt16 {
        var value: UInt16 = 0
        for _ in 0..<4 {
            guard let digit = Character(Unicode.Scalar(try peek())).hexDigitValue else { throw fault(.badEscape) }
            value = value << 4 | UInt16(digit)
            offset += 1
        }
        return value
    }

    /// Reads a number (RFC 8259 section 6), rounded towards zero.
    ///
    /// Fractions and exponents are accepted, since some services' libraries write every number as floating point.
    package mutating func integer() throws(JSONError) -> OutsideNumber {
        try expect(.number)
        let start = offset
        let isNegative = try peek() == UInt8(ascii: "-")
        if isNegative { offset += 1 }
        let isZero = try peek() == UInt8(ascii: "0")
        let whole = try digits()
        guard !isZero || whole.count == 1 else { throw JSONError(reason: .unexpectedByte, offset: start) }
        var isWhole = true
        if offset < bytes.count, bytes[offset] == UInt8(ascii: ".") {
            isWhole = false
            offset += 1
            _ = try digits()
        }
        if offset < bytes.count, bytes[offset] | 0x20 == UInt8(ascii: "e") {
            isWhole = false
            offset += 1
            let sign = try peek()
            if sign == UInt8(ascii: "+") || sign == UInt8(ascii: "-") { offset += 1 }
            _ = try digits()
        }
        if isWhole, !isNegative, let number = OutsideNumber(digits: whole) { return number }
        let text = String(decoding: bytes[start..<offset], as: UTF8.self)
        let value = isWhole ? Int64(text) : Double(text).flatMap { Int64(exactly: $0.rounded(.towardZero)) }
        return OutsideNumber(value ?? (isNegative ? .min : .max))
    }

    /// Reads one or more decimal digits.
    private mutating func digits() throws(JSONError) -> ArraySlice<UInt8> {
        let start = offset
        while offset < bytes.count, UInt8(ascii: "0")...UInt8(ascii: "9") ~= bytes[offset] { offset += 1 }
        guard offset > start else {
            _ = try peek()
            throw fault(.unexpectedByte)
        }
        return bytes[start..<offset]
    }
}
