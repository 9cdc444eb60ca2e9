/// SipHash-2-4: a hash with a key, of few bytes (Aumasson and Bernstein, 2012).
package struct SipHash: Sendable {
    /// The key.
    package struct Key: Hashable, Sendable {
        fileprivate let low: UInt64
        fileprivate let high: UInt64

        /// - Parameter bytes: 16 of them; nil for another number.
        package init?(_ bytes: [UInt8]) {
            guard bytes.count == 16 else { return nil }
            low = bytes[..<8].reversed().reduce(0) { $0 << 8 | UInt64($1) }
            high = bytes[8...].reversed().reduce(0) { $0 << 8 | UInt64($1) }
        }

        package init(low: UInt64, high: UInt64) { (self.low, self.high) = (low, high) }
    }

    private var (v0, v1, v2, v3): (UInt64, UInt64, UInt64, UInt64)
    private var count = 0

    package init(_ key: Key) {
        v0 = key.low ^ 0x736f_6d65_7073_6575
        v1 = key.high ^ 0x646f_7261_6e64_6f6d
        v2 = key.low ^ 0x6c79_6765_6e65_7261
        v3 = key.high ^ 0x7465_6462_7974_6573
    }

    /// Adds eight bytes, the first of them in the lowest bits.
    package mutating func append(_ word: UInt64) {
        v3 ^= word
        round()
        round()
        v0 ^= word
        count += 8
    }

    /// The hash.
    ///
    /// - Parameter rest: the last bytes, fewer than eight, the first of them in the lowest bits; the others are 0.
    package consuming func finish(_ rest: UInt64 = 0, _ restCount: Int = 0) -> UInt64 {
        append(UInt64(truncatingIfNeeded: count + restCount) << 56 | rest)
        v2 ^= 0xff
        for _ in 0..<4 { round() }
        return v0 ^ v1 ^ v2 ^ v3
    }

    private mutating func round() {
        v0 &+= v1
        v1 = v1 << 13 | v1 >> 51
        v1 ^= v0
        v0 = v0 << 32 | v0 >> 32
        v2 &+= v3
        v3 = v3 << 16 | v3 >> 48
        v3 ^= v2
        v0 &+= v3
        v3 = v3 << 21 | v3 >> 43
        v3 ^= v0
        v2 &+= v1
        v1 = v1 << 17 | v1 >> 47
        v1 ^= v2
        v2 = v2 << 32 | v2 >> 32
    }
}
