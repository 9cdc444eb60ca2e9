import DNSWire

/// The bytes after the name in a key: type, class, and the DO and CD bits.
struct KeyTail {
    /// Its length in bytes in a key.
    static var count: Int { 5 }

    /// The five bytes as a number, the first one most significant.
    let value: UInt64

    @inline(__always)
    init(_ query: Query) {
        let flags: UInt64 = (query.dnssecOK ? 1 : 0) | (query.checkingDisabled ? 2 : 0)
        value = UInt64(query.type.rawValue) &<< 24 | UInt64(query.class.rawValue) &<< 8 | flags
    }

    /// Reads the end of a key.
    init(_ key: Span<UInt8>) {
        var value = 0 as UInt64
        for index in (key.count - Self.count)..<key.count { value = value << 8 | UInt64(key[index]) }
        self.value = value
    }

    /// Reads the end of a block's key.
    init(_ key: [UInt8]) { value = key.suffix(Self.count).reduce(0) { $0 << 8 | UInt64($1) } }
}
