public import DNSWire

/// A value of a JSON text (RFC 8259).
///
/// The text is hostile: time and memory are proportional to its size, which the caller limits; the stack is limited by
/// `maximumDepth`.
public struct JSONNode: Sendable {
    /// The most nested objects and arrays, the outermost included; responses of services have up to 6.
    public static let maximumDepth = 16

    public enum Content: Sendable {
        /// In the order of the text, equal keys too.
        case object([(key: String, value: JSONNode)])
        case array([JSONNode])
        case string(String)
        /// Rounded towards zero.
        case number(OutsideNumber)
        case boolean(Bool)
        case null
    }

    public let content: Content
    /// Where it begins, in bytes from the start of the text.
    public let offset: Int

    init(_ content: Content, offset: Int) { (self.content, self.offset) = (content, offset) }

    /// That the value is of another kind than expected, or means nothing.
    public func fault(_ reason: JSONError.Reason) -> JSONError { JSONError(reason: reason, offset: offset) }
}

// Strict reading: a value of another kind is refused.

extension JSONNode {
    /// The members of an object; of equal keys the first one counts.
    public func members() throws(JSONError) -> [(key: String, value: JSONNode)] {
        guard case .object(let members) = content else { throw fault(.wrongKind) }
        return members
    }

    public func elements() throws(JSONError) -> [JSONNode] {
        guard case .array(let elements) = content else { throw fault(.wrongKind) }
        return elements
    }

    public func text() throws(JSONError) -> String {
        guard case .string(let text) = content else { throw fault(.wrongKind) }
        return text
    }

    public func number() throws(JSONError) -> OutsideNumber {
        guard case .number(let number) = content else { throw fault(.wrongKind) }
        return number
    }

    public func boolean() throws(JSONError) -> Bool {
        guard case .boolean(let boolean) = content else { throw fault(.wrongKind) }
        return boolean
    }
}

// Lenient reading of services' replies: a value of another kind is skipped, not refused.

extension JSONNode {
    /// A member of an object. Nil without one, and for null, which counts as missing; of equal keys the first one counts.
    subscript(key: String) -> JSONNode? {
        guard case .object(let members) = content, let value = members.first(where: { $0.key == key })?.value else {
            return nil
        }
        if case .null = value.content { return nil }
        return value
    }

    var string: String? { if case .string(let text) = content { text } else { nil } }

    /// A number, also in quotes; nil for anything else.
    var integer: OutsideNumber? {
        switch content {
        case .number(let number): number
        case .string(let text): OutsideNumber(digits: text)
        default: nil
        }
    }
}

/// Why bytes are not the expected JSON text, and at which offset.
public struct JSONError: Error, Hashable, Sendable {
    public enum Reason: String, Hashable, Sendable {
        case unexpectedEnd = "the text ends too early"
        case unexpectedByte = "a byte that cannot stand here"
        case tooDeep = "objects and arrays too deep inside one another"
        case badEscape = "an escape sequence that means no character"
        case badUTF8 = "a string that is not UTF-8"
        case wrongKind = "a value of another kind than expected"
        case trailingBytes = "bytes after the value"
        case badValue = "a value that means nothing here"
    }

    public var reason: Reason
    /// In bytes from the start of the text.
    public var offset: Int

    public init(reason: Reason, offset: Int) {
        self.reason = reason
        self.offset = offset
    }
}

extension JSONError: CustomStringConvertible {
    public var description: String { "\(reason.rawValue), at byte \(offset)" }
}
