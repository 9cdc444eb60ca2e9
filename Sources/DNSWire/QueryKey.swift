/// What an answer in the cache is found by: lower-cased QNAME, QTYPE, QCLASS, and the DO and CD bits.
///
/// A fixed 260 bytes in place, so that a look-up allocates nothing.
@frozen
package struct QueryKey: Sendable {
    /// The most bytes of a key: a name of 255, type, class, and one byte of flags.
    package static var maximumLength: Int { 260 }

    /// Only the first `count` bytes mean anything.
    package var storage: InlineArray<260, UInt8>
    /// Bytes in use: the name's and five. Stored, so that other targets read it without a call.
    package internal(set) var count: Int

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

    /// The lower-cased name in the key.
    package var name: Name { Name(uncheckedWire: Array(array.dropLast(5))) }

    /// Appends one byte of the name; a name has at most 255.
    mutating func append(_ byte: UInt8) {
        storage[count] = byte
        count &+= 1
    }

    mutating func removeAll() { count = 0 }

    /// Takes a name of at most 255 bytes, in lower case; its length bytes are below the letters.
    @inline(__always)
    mutating func setName(_ name: Span<UInt8>) {
        guard name.count <= Name.maximumLength else { return }
        count = name.count
        guard count >= 8 else {
            for index in name.indices { storage[index] = asciiLowercased(name[index]) }
            return
        }
        var at = 0
        while at &+ 8 < count {
            copyWord(of: name, at: at)
            at &+= 8
        }
        // The last eight bytes, some of them for the second time.
        copyWord(of: name, at: count &- 8)
    }

    /// Copies eight bytes at once; the optimizer makes one load and one store of them.
    @inline(__always)
    private mutating func copyWord(of name: Span<UInt8>, at offset: Int) {
        let bytes = name.extracting(offset..<(offset &+ 8))
        // One comparison; with it no index below needs another.
        guard UInt(bitPattern: offset) <= UInt(Self.maximumLength - 8) else { return }
        var word: UInt64 = 0
        for index in 0..<8 { word |= UInt64(bytes[index]) &<< UInt64(8 &* index) }
        // A byte's top bit is set in `upper` if it is a letter from A to Z.
        let low = word & 0x7f7f_7f7f_7f7f_7f7f
        let upper = (low &+ 0x3f3f_3f3f_3f3f_3f3f) ^ (low &+ 0x2525_2525_2525_2525)
        word |= (upper & ~word & 0x8080_8080_8080_8080) &>> 2
        for index in 0..<8 { storage[offset &+ index] = UInt8(truncatingIfNeeded: word &>> UInt64(8 &* index)) }
    }

    /// Appends what follows the name.
    mutating func finish(type: RecordType, class: RecordClass, dnssecOK: Bool, checkingDisabled: Bool) {
        let at = count
        guard at >= 0, at <= Name.maximumLength else { return }
        storage[at] = UInt8(truncatingIfNeeded: type.rawValue >> 8)
        storage[at &+ 1] = UInt8(truncatingIfNeeded: type.rawValue)
        storage[at &+ 2] = UInt8(truncatingIfNeeded: `class`.rawValue >> 8)
        storage[at &+ 3] = UInt8(truncatingIfNeeded: `class`.rawValue)
        storage[at &+ 4] = (dnssecOK ? 1 : 0) | (checkingDisabled ? 2 : 0)
        count = at &+ 5
    }
}
