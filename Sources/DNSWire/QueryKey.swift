/// What an answer in the cache is found by: lower-cased QNAME, QTYPE, QCLASS, and the DO and CD bits.
///
/// A fixed 260 bytes in place, so that a look-up allocates nothing. The look-up of a hit does without: it reads the same
/// bytes where they lie in the client's message.
@frozen
package struct QueryKey: Sendable {
    /// The most bytes of a key: a name of 255, type, class, and one byte of flags.
    package static var maximumLength: Int { 260 }

    /// Only the first `count` bytes mean anything.
    package var storage: InlineArray<260, UInt8>
    /// Bytes in use: the name's and five.
    package private(set) var count: Int

    package init() {
        storage = InlineArray(repeating: 0)
        count = 0
    }

    /// The key of a question; `name` may be in any letter case.
    package init(_ question: Question, dnssecOK: Bool, checkingDisabled: Bool) {
        self.init()
        for byte in question.name.wire { append(asciiLowercased(byte)) }
        finish(
            type: question.type, class: question.class, dnssecOK: dnssecOK, checkingDisabled: checkingDisabled)
    }

    /// Byte `index` of the key, below `count`.
    package subscript(index: Int) -> UInt8 { storage[index] }

    /// The key's bytes as an array, for those who may allocate.
    package var array: [UInt8] { (0..<count).map { storage[$0] } }

    /// The type in the key.
    package var type: RecordType {
        RecordType(rawValue: UInt16(storage[count - 5]) << 8 | UInt16(storage[count - 4]))
    }

    /// The lower-cased name in the key.
    package var name: Name { Name(uncheckedWire: Array(array.dropLast(5))) }

    /// The key of a query without a fault, read from `message`.
    package init(_ query: Query, in message: Span<UInt8>) {
        self.init()
        for index in Header.length..<(Header.length + query.nameLength) { append(asciiLowercased(message[index])) }
        finish(
            type: query.type, class: query.class, dnssecOK: query.dnssecOK,
            checkingDisabled: query.checkingDisabled)
    }

    /// Appends one byte; there is room for a name of 255 and what follows it.
    private mutating func append(_ byte: UInt8) {
        storage[count] = byte
        count &+= 1
    }

    /// Appends what follows the name.
    private mutating func finish(type: RecordType, class: RecordClass, dnssecOK: Bool, checkingDisabled: Bool) {
        for value in [type.rawValue, `class`.rawValue] {
            append(UInt8(truncatingIfNeeded: value >> 8))
            append(UInt8(truncatingIfNeeded: value))
        }
        append((dnssecOK ? 1 : 0) | (checkingDisabled ? 2 : 0))
    }
}
