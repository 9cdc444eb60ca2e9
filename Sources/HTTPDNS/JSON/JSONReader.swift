import DNSWire

/// Reads a JSON text front to back.
public struct JSONReader {
    private static let quote = UInt8(ascii: "\"")
    /// Most objects have no more.
    private static let usualMembers = 8

    private let bytes: [UInt8]
    private var offset = 0
    private var depth = 0

    private init(_ bytes: [UInt8]) { self.bytes = bytes }

    /// Reads a text, which is one value and white space around it.
    public static func read(_ bytes: [UInt8]) throws(JSONError) -> JSONNode {
        var reader = JSONReader(bytes)
        let value = try reader.value()
        guard reader.offset == bytes.count else { throw reader.fault(.trailingBytes) }
        return value
    }

    /// The next value, and the white space around it.
    private mutating func value() throws(JSONError) -> JSONNode {
        skipBlanks()
        let start = offset
        let content = try content()
        skipBlanks()
        return JSONNode(content, offset: start)
    }

    private mutating func content() throws(JSONError) -> JSONNode.Content {
        switch try peek() {
        case UInt8(ascii: "{"):
            var members: [(key: String, value: JSONNode)] = []
            // Of the outermost alone: inside it a hostile text has thousands.
            if depth == 0 { members.reserveCapacity(Self.usualMembers) }
            try container(closing: UInt8(ascii: "}")) { reader throws(JSONError) in
                reader.skipBlanks()
                guard try reader.peek() == Self.quote else { throw reader.fault(.unexpectedByte) }
                let key = try reader.string()
                reader.skipBlanks()
                try reader.take(UInt8(ascii: ":"))
                members.append((key, try reader.value()))
            }
            return .object(members)
        case UInt8(ascii: "["):
            var elements: [JSONNode] = []
            try container(closing: UInt8(ascii: "]")) { reader throws(JSONError) in
                elements.append(try reader.value())
            }
            return .array(elements)
        case Self.quote: return .string(try string())
        case UInt8(ascii: "-"), UInt8(ascii: "0")...UInt8(ascii: "9"): return .number(try number())
        case UInt8(ascii: "t"):
            try take("true")
            return .boolean(true)
        case UInt8(ascii: "f"):
            try take("false")
            return .boolean(false)
        case UInt8(ascii: "n"):
            try take("null")
            return .null
        default: throw fault(.unexpectedByte)
        }
    }

    /// Reads the items between brackets, separated by commas.
    private mutating func container(
        closing: UInt8, _ item: (inout JSONReader) throws(JSONError) -> Void
    ) throws(JSONError) {
        guard depth < JSONNode.maximumDepth else { throw fault(.tooDeep) }
        depth += 1
        offset += 1
        skipBlanks()
        if try peek() != closing {
            try item(&self)
            while try peek() == UInt8(ascii: ",") {
                offset += 1
                try item(&self)
            }
        }
        try take(closing)
        depth -= 1
    }

    /// The next byte, without consuming it.
    private func peek() throws(JSONError) -> UInt8 {
        guard offset < bytes.count else { throw fault(.unexpectedEnd) }
        return bytes[offset]
    }

    private mutating func take(_ byte: UInt8) throws(JSONError) {
        guard try peek() == byte else { throw fault(.unexpectedByte) }
        offset += 1
    }

    private mutating func take(_ literal: String) throws(JSONError) {
        for byte in literal.utf8 { try take(byte) }
    }

    private mutating func skipBlanks() {
        while offset < bytes.count, Self.isBlank(bytes[offset]) { offset += 1 }
    }

    private static func isBlank(_ byte: UInt8) -> Bool {
        switch byte {
        case 0x20, 0x09, 0x0a, 0x0d: true
        default: false
        }
    }

    private func fault(_ reason: JSONError.Reason) -> JSONError { JSONError(reason: reason, offset: offset) }
}

extension JSONReader {
    /// Reads a string (RFC 8259 section 7) and decodes its escape sequences.
    private mutating func string() throws(JSONError) -> String {
        let start = offset
        offset += 1
        // What stands before the last run, with escape sequences decoded.
        var text: [UInt8] = []
        while true {
            let run = plainRun()
            switch try peek() {
            case Self.quote:
                offset += 1
                let string: String?
                if text.isEmpty {
                    string = Self.text(bytes.span.extracting(run))
                } else {
                    text += bytes[run]
                    string = Self.text(text.span)
                }
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

    /// The text of UTF-8; nil for other bytes. By a span: the library's generic way costs a miss thousands of instructions.
    private static func text(_ bytes: Span<UInt8>) -> String? {
        guard let valid = try? UTF8Span(validating: bytes) else { return nil }
        return String(copying: valid)
    }

    /// Skips the bytes of a string up to its end or the next escape sequence.
    private mutating func plainRun() -> Range<Int> {
        let start = offset
        while offset < bytes.count {
            let byte = bytes[offset]
            if byte == Self.quote || byte == UInt8(ascii: "\\") || byte < 0x20 { break }
            offset += 1
        }
        return start..<offset
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

    /// Reads a number (RFC 8259 section 6), rounded towards zero: some services' libraries write all with a fraction or
    /// exponent.
    private mutating func number() throws(JSONError) -> OutsideNumber {
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
