import DNSWire

/// A keyed hash with a random secret: without it, names that collide cannot be chosen.
struct KeyHash: Sendable {
    private let first: UInt64
    private let second: UInt64
    private let third: UInt64

    /// Generates a secret for this process.
    init() {
        var generator = SystemRandomNumberGenerator()
        first = generator.next()
        second = generator.next() | 1
        third = generator.next() | 1
    }

    /// The hash of a key; `name` may have any letter case.
    ///
    /// Processes eight bytes at a time with a multiplication of 64 by 64 bits, folded.
    @inline(__always)
    func callAsFunction(_ name: Span<UInt8>, _ tail: KeyTail) -> UInt64 {
        let count = name.count
        var state = first ^ UInt64(truncatingIfNeeded: count)
        if count < 8 {
            state ^= Self.short(name)
        } else {
            let bytes = unsafe name.bytes
            var at = 0
            while at &+ 8 < count {
                state = unsafe Self.fold(state ^ bytes.word(at: at).asciiLowercased, second)
                at &+= 8
            }
            // The last eight bytes, some of them for the second time.
            state ^= unsafe bytes.word(at: count &- 8).asciiLowercased
        }
        return Self.fold(Self.fold(state, second) ^ tail.value, third)
    }

    /// A name of less than eight bytes as one word.
    @inline(never)
    private static func short(_ name: Span<UInt8>) -> UInt64 {
        var word = 0 as UInt64
        for index in name.indices { word = word &<< 8 | UInt64(asciiLowercased(name[index])) }
        return word
    }

    @inline(__always)
    private static func fold(_ left: UInt64, _ right: UInt64) -> UInt64 {
        let (high, low) = left.multipliedFullWidth(by: right)
        return high ^ low
    }
}

extension RawSpan {
    /// Eight bytes, the first one least significant. The caller checks the bounds.
    @unsafe
    @inline(__always)
    func word(at offset: Int) -> UInt64 {
        unsafe unsafeLoadUnaligned(fromUncheckedByteOffset: offset, as: UInt64.self)
    }
}

extension UInt64 {
    /// Eight characters with the letters A to Z in lower case; bytes above 127 are unchanged.
    @inline(__always)
    var asciiLowercased: UInt64 {
        let low = self & 0x7f7f_7f7f_7f7f_7f7f
        // A byte's top bit is set in `upper` if its lower seven are a letter from A to Z.
        let upper = (low &+ 0x3f3f_3f3f_3f3f_3f3f) ^ (low &+ 0x2525_2525_2525_2525)
        return self | (upper & ~self & 0x8080_8080_8080_8080) &>> 2
    }
}

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
