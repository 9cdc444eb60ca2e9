/// Writes JSON text value by value (RFC 8259): the counterpart of `JSONReader`.
///
/// Writes no white space. The text is well-formed if the calls are: members in objects, elements in arrays.
public struct JSONWriter {
    /// The text written so far.
    public private(set) var text = ""
    /// Whether a comma must come before the next value.
    private var needsComma = false

    private init() {}

    /// The text of one object.
    public static func object(_ members: (inout JSONWriter) -> Void) -> String {
        var writer = JSONWriter()
        writer.object(members)
        return writer.text
    }

    /// The text of one value.
    public static func text(of value: some JSONValue) -> String {
        var writer = JSONWriter()
        value.write(to: &writer)
        return writer.text
    }

    /// An object as an element of an array.
    public mutating func object(_ members: (inout JSONWriter) -> Void) { enclose("{", "}", members) }

    // MARK: Members of an object

    public mutating func member(_ key: String, _ value: some JSONValue) {
        begin(key)
        value.write(to: &self)
    }

    /// A number of thousandths, 0 or more, with three decimals.
    public mutating func member(_ key: String, thousandths value: Int64) {
        let decimals = String(1_000 + value % 1_000).dropFirst()
        begin(key)
        write("\(value / 1_000).\(decimals)")
    }

    public mutating func member(_ key: String, object members: (inout JSONWriter) -> Void) {
        begin(key)
        enclose("{", "}", members)
    }

    public mutating func member(_ key: String, array elements: (inout JSONWriter) -> Void) {
        begin(key)
        enclose("[", "]", elements)
    }

    private mutating func begin(_ key: String) {
        write(Self.quoted(key) + ":")
        needsComma = false
    }

    fileprivate mutating func enclose(_ open: String, _ close: String, _ body: (inout JSONWriter) -> Void) {
        write(open)
        needsComma = false
        body(&self)
        text += close
        needsComma = true
    }

    /// Writes a whole value.
    fileprivate mutating func write(_ literal: String) {
        if needsComma { text += "," }
        text += literal
        needsComma = true
    }

    /// A string in quotes, with escape sequences where required (RFC 8259 section 7) and for display controls.
    fileprivate static func quoted(_ value: String) -> String {
        var bytes: [UInt8] = [UInt8(ascii: "\"")]
        bytes.reserveCapacity(value.utf8.count + 2)
        // Bytes as long as that will do: a response may have 64 KiB of text, and scalars take 20 times as long.
        for byte in value.utf8 {
            guard byte < 0x80 else { return scalarsQuoted(value) }
            append(byte, to: &bytes)
        }
        bytes.append(UInt8(ascii: "\""))
        return String(decoding: bytes, as: UTF8.self)
    }

    private static func scalarsQuoted(_ value: String) -> String {
        var bytes: [UInt8] = [UInt8(ascii: "\"")]
        for scalar in value.unicodeScalars {
            if scalar.isASCII {
                append(UInt8(truncatingIfNeeded: scalar.value), to: &bytes)
            } else if scalar.isDisplayControl {
                for unit in scalar.utf16 { append(escaped: unit, to: &bytes) }
            } else {
                bytes += UTF8.encode(scalar) ?? UTF8.encodedReplacementCharacter
            }
        }
        bytes.append(UInt8(ascii: "\""))
        return String(decoding: bytes, as: UTF8.self)
    }

    /// Appends an ASCII character.
    private static func append(_ byte: UInt8, to bytes: inout [UInt8]) {
        switch byte {
        case UInt8(ascii: "\""), UInt8(ascii: "\\"): bytes += [UInt8(ascii: "\\"), byte]
        case UInt8(ascii: "\n"): bytes += [UInt8(ascii: "\\"), UInt8(ascii: "n")]
        case 0x20...0x7e: bytes.append(byte)
        default: append(escaped: UInt16(byte), to: &bytes)
        }
    }

    private static func append(escaped unit: UInt16, to bytes: inout [UInt8]) {
        let digits = String(unit, radix: 16)
        bytes += ("\\u" + String(repeating: "0", count: 4 - digits.utf8.count) + digits).utf8
    }
}

/// What JSON text can hold.
public protocol JSONValue: Sendable {
    /// Writes it where a value may stand.
    func write(to writer: inout JSONWriter)
}

extension String: JSONValue {
    public func write(to writer: inout JSONWriter) { writer.write(JSONWriter.quoted(self)) }
}

extension Bool: JSONValue {
    public func write(to writer: inout JSONWriter) { writer.write(self ? "true" : "false") }
}

extension JSONValue where Self: BinaryInteger {
    public func write(to writer: inout JSONWriter) { writer.write(String(self)) }
}

extension Int: JSONValue {}
extension Int64: JSONValue {}
extension UInt16: JSONValue {}
extension UInt32: JSONValue {}

/// Null where there is none.
extension Optional: JSONValue where Wrapped: JSONValue {
    public func write(to writer: inout JSONWriter) {
        if let self { self.write(to: &writer) } else { writer.write("null") }
    }
}

extension Array: JSONValue where Element: JSONValue {
    public func write(to writer: inout JSONWriter) {
        writer.enclose("[", "]") { writer in for element in self { element.write(to: &writer) } }
    }
}

/// One of some words.
extension JSONValue where Self: RawRepresentable<String> {
    public func write(to writer: inout JSONWriter) { rawValue.write(to: &writer) }
}

/// Text that a display shows, and does not act on: every control character is escaped, as in `\x1b` and `\u{202e}`.
///
/// All output to people takes this type alone. What is interpolated loses its line ends too, so that no value from outside
/// looks like a line of its own; the literal text around it keeps them.
public struct VisibleText: ExpressibleByStringInterpolation, CustomStringConvertible, Sendable {
    public let description: String

    /// One line, or a part of one.
    public init(_ text: String) { description = Self.escaped(text) { _ in false } }

    /// Several lines, whose ends stay.
    public init(lines text: String) { description = Self.escaped(text) { $0 == "\n" } }

    public init(stringLiteral text: String) { description = text }

    public init(stringInterpolation pieces: StringInterpolation) { description = pieces.text }

    public struct StringInterpolation: StringInterpolationProtocol {
        fileprivate var text = ""

        public init(literalCapacity: Int, interpolationCount: Int) { text.reserveCapacity(literalCapacity) }

        public mutating func appendLiteral(_ literal: String) { text += literal }

        public mutating func appendInterpolation(_ value: some Any) {
            // Not by a literal, which would be one of this type.
            text += VisibleText(String(describing: value)).description
        }

        public mutating func appendInterpolation(_ value: VisibleText) { text += value.description }
    }

    private static func escaped(_ text: String, except stays: (Unicode.Scalar) -> Bool) -> String {
        guard text.unicodeScalars.contains(where: { $0.isDisplayControl && !stays($0) }) else { return text }
        var escaped = ""
        for scalar in text.unicodeScalars {
            guard scalar.isDisplayControl, !stays(scalar) else {
                escaped.unicodeScalars.append(scalar)
                continue
            }
            let digits = String(scalar.value, radix: 16)
            escaped += scalar.value < 0x100 ? "\\x\(digits.utf8.count < 2 ? "0" : "")\(digits)" : "\\u{\(digits)}"
        }
        return escaped
    }
}

extension Unicode.Scalar {
    /// Whether a display acts on it instead of showing it: control characters, which terminals interpret, invisible
    /// ones that change the order of the text around them, and separators of lines and paragraphs.
    public var isDisplayControl: Bool {
        switch value {
        case 0x20...0x7e: false
        case 0..<0xa0: true
        default:
            switch properties.generalCategory {
            case .control, .format, .lineSeparator, .paragraphSeparator: true
            default: false
            }
        }
    }
}
