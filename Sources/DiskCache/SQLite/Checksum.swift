/// FNV-1a with 64 bits: detects changes of a row by a failing disk. It is no protection against deliberate changes.
struct Checksum {
    private(set) var value: UInt64 = 0xcbf2_9ce4_8422_2325

    mutating func add(_ bytes: Span<UInt8>) {
        for index in bytes.indices { add(byte: bytes[index]) }
    }

    private mutating func add(byte: UInt8) { value = (value ^ UInt64(byte)) &* 0x0000_0100_0000_01b3 }

    mutating func add(_ number: some FixedWidthInteger) {
        var rest = UInt64(truncatingIfNeeded: number)
        for _ in 0..<8 {
            add(byte: UInt8(truncatingIfNeeded: rest))
            rest >>= 8
        }
    }

    /// Adds a text and a terminator, so that two texts in a row differ from two others with the same concatenation.
    mutating func add(_ text: String) {
        add(text.utf8Span.span)
        add(byte: 0)
    }
}
