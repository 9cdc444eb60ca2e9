/// Why bytes are not the expected JSON text, and at which offset.
package struct JSONError: Error, Hashable, Sendable {
    package enum Reason: String, Hashable, Sendable {
        case unexpectedEnd = "the text ends too early"
        case unexpectedByte = "a byte that cannot stand here"
        case tooDeep = "objects and arrays too deep inside one another"
        case badEscape = "an escape sequence that means no character"
        case badUTF8 = "a string that is not UTF-8"
        case wrongKind = "a value of another kind than expected"
        case trailingBytes = "bytes after the value"
        case badValue = "a value that means nothing here"
    }

    package var reason: Reason
    /// In bytes from the start of the text.
    package var offset: Int

    package init(reason: Reason, offset: Int) {
        self.reason = reason
        self.offset = offset
    }
}

extension JSONError: CustomStringConvertible {
    package var description: String { "\(reason.rawValue), at byte \(offset)" }
}
