/// The key of a cached answer: lower-cased QNAME, the client's scope where there is one, QTYPE, QCLASS, and the DO and
/// CD bits.
///
/// Fixed-size storage, so that a look-up allocates nothing. The look-up of a hit without a scope does not need it: it
/// reads the same bytes from the client's message.
@frozen
package struct QueryKey: Sendable {
    /// Only the first `count` bytes are used. There is room for a name of 255, a scope of 35, type, class, and one byte
    /// of flags.
    package var storage: InlineArray<295, UInt8>
    /// Bytes in use: those of the name and the scope, and five.
    package private(set) var count: Int
    /// Whether the key has a client scope.
    package private(set) var isScoped: Bool

    package init() {
        storage = InlineArray(repeating: 0)
        count = 0
        isScoped = false
    }

    /// The key of a question; `name` may have any letter case.
    ///
    /// - Parameter scope: nil for an answer that is the same for all clients.
    package init(_ question: borrowing Question, dnssecOK: Bool, checkingDisabled: Bool, scope: ClientScope? = nil) {
        self.init()
        for byte in question.name.wire { append(asciiLowercased(byte)) }
        endName(scope)
        finish(
            type: question.type, class: question.class, dnssecOK: dnssecOK, checkingDisabled: checkingDisabled)
    }

    /// Byte `index` of the key, below `count`. Not by `storage[index]`, which copies the whole array for each byte.
    package subscript(index: Int) -> UInt8 { storage.span[index] }

    /// The key's bytes as an array, where allocation is acceptable.
    package var array: [UInt8] {
        [UInt8](capacity: count) { bytes in
            let span = storage.span
            for index in 0..<count { bytes.append(span[index]) }
        }
    }

    /// The record type in the key.
    package var type: RecordType {
        get { RecordType(rawValue: UInt16(self[count - 5]) << 8 | UInt16(self[count - 4])) }
        set {
            storage[count - 5] = UInt8(truncatingIfNeeded: newValue.rawValue >> 8)
            storage[count - 4] = UInt8(truncatingIfNeeded: newValue.rawValue)
        }
    }

    /// The key of a query without a fault, parsed from `message`.
    package init(_ query: Query, in message: Span<UInt8>, scope: ClientScope? = nil) {
        self.init()
        for index in Header.length..<(Header.length + query.nameLength) { append(asciiLowercased(message[index])) }
        endName(scope)
        finish(
            type: query.type, class: query.class, dnssecOK: query.dnssecOK,
            checkingDisabled: query.checkingDisabled)
    }

    /// Appends the scope after the name. The name's terminating zero shows where it begins, so no key of a scope equals
    /// one of another, or one without.
    private mutating func endName(_ scope: ClientScope?) {
        isScoped = scope != nil
        scope?.forEachKeyByte { append($0) }
    }

    /// Appends one byte; there is room for the longest of each part.
    private mutating func append(_ byte: UInt8) {
        storage[count] = byte
        count &+= 1
    }

    /// Appends the bytes that follow the name and scope.
    private mutating func finish(type: RecordType, class: RecordClass, dnssecOK: Bool, checkingDisabled: Bool) {
        for value in [type.rawValue, `class`.rawValue] {
            append(UInt8(truncatingIfNeeded: value >> 8))
            append(UInt8(truncatingIfNeeded: value))
        }
        append((dnssecOK ? 1 : 0) | (checkingDisabled ? 2 : 0))
    }
}
