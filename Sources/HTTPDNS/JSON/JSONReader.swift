import DNSWire

/// Reads JSON text value by value, front to back (RFC 8259). Its input is hostile.
///
/// The reader builds no tree: the caller knows the response's format and reads each value in turn. Memory and time are
/// proportional to the text's size, which the caller limits; the stack is limited by `maximumDepth`.
package struct JSONReader {
    /// The most nested objects and arrays, the outermost included; responses of services have up to 6.
    package static let maximumDepth = 16

    /// The kind of a value.
    package enum Kind: Hashable, Sendable {
        case object, array, string, number, boolean, null
    }

    let bytes: [UInt8]
    var offset = 0
    private var depth = 0

    private init(_ bytes: [UInt8]) { self.bytes = bytes }

    /// Reads the only value of `bytes`: `body` reads it, or leaves it to be skipped, and only white space may follow.
    package static func read<Value>(
        _ bytes: [UInt8], _ body: (inout JSONReader) throws(JSONError) -> Value
    ) throws(JSONError) -> Value {
        var reader = JSONReader(bytes)
        reader.skipBlanks()
        let start = reader.offset
        let value = try body(&reader)
        if reader.offset == start { try reader.skipValue() }
        reader.skipBlanks()
        guard reader.offset == bytes.count else { throw reader.fault(.trailingBytes) }
        return value
    }

    /// The kind of the next value, by its first byte.
    package func kind() throws(JSONError) -> Kind {
        switch try peek() {
        case UInt8(ascii: "{"): .object
        case UInt8(ascii: "["): .array
        case UInt8(ascii: "\""): .string
        case UInt8(ascii: "-"), UInt8(ascii: "0")...UInt8(ascii: "9"): .number
        case UInt8(ascii: "t"), UInt8(ascii: "f"): .boolean
        case UInt8(ascii: "n"): .null
        default: throw fault(.unexpectedByte)
        }
    }

    /// Reads an object; `member` is called with each key, and reads the value or leaves it to be skipped.
    ///
    /// Of equal keys only the first is used: the others are skipped.
    package mutating func object(
        _ member: (inout JSONReader, String) throws(JSONError) -> Void
    ) throws(JSONError) {
        var seen = SeenKeys()
        try container(.object, closing: UInt8(ascii: "}")) { reader throws(JSONError) in
            guard try reader.peek() == UInt8(ascii: "\"") else { throw reader.fault(.unexpectedByte) }
            let key = try reader.string()
            reader.skipBlanks()
            try reader.take(UInt8(ascii: ":"))
            reader.skipBlanks()
            let start = reader.offset
            if seen.insert(key) { try member(&reader, key) }
            if reader.offset == start { try reader.skipValue() }
        }
    }

    /// Reads an array; `element` is called for each element, and reads it or leaves it to be skipped.
    package mutating func array(_ element: (inout JSONReader) throws(JSONError) -> Void) throws(JSONError) {
        try container(.array, closing: UInt8(ascii: "]")) { reader throws(JSONError) in
            let start = reader.offset
            try element(&reader)
            if reader.offset == start { try reader.skipValue() }
        }
    }

    /// Reads the items between brackets, separated by commas.
    private mutating func container(
        _ kind: Kind, closing: UInt8, _ item: (inout JSONReader) throws(JSONError) -> Void
    ) throws(JSONError) {
        try expect(kind)
        guard depth < Self.maximumDepth else { throw fault(.tooDeep) }
        depth += 1
        offset += 1
        skipBlanks()
        if try peek() != closing {
            while true {
                skipBlanks()
                try item(&self)
                skipBlanks()
                guard try peek() == UInt8(ascii: ",") else { break }
                offset += 1
            }
        }
        try take(closing)
        depth -= 1
    }

    package mutating func boolean() throws(JSONError) -> Bool {
        try expect(.boolean)
        let value = try peek() == UInt8(ascii: "t")
        try take(value ? "true" : "false")
        return value
    }

    package mutating func null() throws(JSONError) {
        try expect(.null)
        try take("null")
    }

    /// Skips a value of any kind, which must be well-formed.
    package mutating func skipValue() throws(JSONError) {
        switch try kind() {
        case .object: try object { _, _ in }
        case .array: try array { _ in }
        case .string: _ = try string()
        case .number: _ = try integer()
        case .boolean: _ = try boolean()
        case .null: try null()
        }
    }

    func expect(_ kind: Kind) throws(JSONError) {
        guard try self.kind() == kind else { throw fault(.wrongKind) }
    }

    /// The next byte, without consuming it.
    func peek() throws(JSONError) -> UInt8 {
        guard offset < bytes.count else { throw fault(.unexpectedEnd) }
        return bytes[offset]
    }

    mutating func take(_ byte: UInt8) throws(JSONError) {
        guard try peek() == byte else { throw fault(.unexpectedByte) }
        offset += 1
    }

    private mutating func take(_ literal: String) throws(JSONError) {
        for byte in literal.utf8 { try take(byte) }
    }

    private mutating func skipBlanks() {
        while offset < bytes.count {
            switch bytes[offset] {
            case 0x20, 0x09, 0x0a, 0x0d: offset += 1
            default: return
            }
        }
    }

    /// The keys of an object: searched linearly while they are few, hashed when a hostile response has many.
    private struct SeenKeys {
        private static let few = 16
        /// Most objects have no more keys.
        private static let usual = 8

        private var list: [String] = []
        private var set: Set<String> = []

        /// Returns whether the key is new.
        mutating func insert(_ key: String) -> Bool {
            guard list.count >= Self.few else {
                guard !list.contains(key) else { return false }
                if list.isEmpty { list.reserveCapacity(Self.usual) }
                list.append(key)
                return true
            }
            if set.isEmpty { set = Set(list) }
            return set.insert(key).inserted
        }
    }

    func fault(_ reason: JSONError.Reason) -> JSONError { JSONError(reason: reason, offset: offset) }
}

// Lenient reading of services' replies: a value of an unexpected kind is skipped, not refused.

extension JSONReader {
    /// Reads the strings of an array; other elements are empty strings.
    mutating func strings() throws(JSONError) -> [String] {
        var strings: [String] = []
        try array { reader throws(JSONError) in strings.append(try reader.stringIfAny() ?? "") }
        return strings
    }

    /// Reads a string, or leaves a value of another kind to be skipped.
    mutating func stringIfAny() throws(JSONError) -> String? { try kind() == .string ? string() : nil }

    /// Reads the numbers of an array; nil for other elements.
    mutating func integers() throws(JSONError) -> [OutsideNumber?] {
        var numbers: [OutsideNumber?] = []
        try array { reader throws(JSONError) in
            numbers.append(try reader.kind() == .number ? try reader.integer() : nil)
        }
        return numbers
    }
}

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
