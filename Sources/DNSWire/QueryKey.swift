/// What an answer in the cache is found by: lower-cased QNAME, QTYPE, QCLASS, and the DO and CD bits.
///
/// A fixed 260 bytes in place, so that a look-up allocates nothing.
@frozen
package struct QueryKey: Sendable {
    /// The most bytes of a key: a name of 255, type, class, and one byte of flags.
    package static let maximumLength = 260

    /// Only the first `count` bytes mean anything.
    package var storage: InlineArray<260, UInt8>
    @usableFromInline
    var length: Int

    @inlinable
    package init() {
        storage = InlineArray(repeating: 0)
        length = 0
    }

    /// The key of a question; `name` may be in any letter case.
    package init(_ question: Question, dnssecOK: Bool, checkingDisabled: Bool) {
        self.init()
        for byte in question.name.wire { append(asciiLowercased(byte)) }
        finish(
            type: question.type, class: question.class, dnssecOK: dnssecOK, checkingDisabled: checkingDisabled)
    }

    /// Bytes in use: the name's and five.
    @inlinable
    package var count: Int { length }

    /// Byte `index` of the key, below `count`.
    @inlinable
    package subscript(index: Int) -> UInt8 { storage[index] }

    /// The key's bytes as an array, for those who may allocate.
    package var array: [UInt8] { (0..<length).map { storage[$0] } }

    /// The lower-cased name in the key.
    package var name: Name { Name(uncheckedWire: Array(array.dropLast(5))) }

    /// Appends one byte of the name; a name has at most 255.
    @inlinable
    mutating func append(_ byte: UInt8) {
        storage[length] = byte
        length &+= 1
    }

    @inlinable
    mutating func removeAll() { length = 0 }

    /// Appends what follows the name.
    @inlinable
    mutating func finish(type: RecordType, class: RecordClass, dnssecOK: Bool, checkingDisabled: Bool) {
        append(UInt8(truncatingIfNeeded: type.rawValue >> 8))
        append(UInt8(truncatingIfNeeded: type.rawValue))
        append(UInt8(truncatingIfNeeded: `class`.rawValue >> 8))
        append(UInt8(truncatingIfNeeded: `class`.rawValue))
        append((dnssecOK ? 1 : 0) | (checkingDisabled ? 2 : 0))
    }
}
