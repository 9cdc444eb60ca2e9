/// FNV-1a with 64 bits: detects changes of a row by a failing disk. It is no protection against deliberate changes.
struct Checksum {
    private(set) var value: UInt64 = 0xcbf2_9ce4_8422_2325

    private static let prime: UInt64 = 0x0000_0100_0000_01b3

    mutating func add(_ bytes: Span<UInt8>) {
        for index in bytes.indices { add(byte: bytes[index]) }
    }

    private mutating func add(byte: UInt8) { value = (value ^ UInt64(byte)) &* Self.prime }

    /// Adds the eight bytes of a number, the lowest first.
    mutating func add(_ number: some FixedWidthInteger) {
        var rest = UInt64(truncatingIfNeeded: number)
        var zeros = 8
        while rest != 0 {
            add(byte: UInt8(truncatingIfNeeded: rest))
            rest >>= 8
            zeros -= 1
        }
        // The bytes above are zero: each one multiplies, and nothing else.
        value = value &* Self.powers[zeros]
    }

    /// The powers of the prime, from 0 to 8.
    private static let powers: [9 of UInt64] = [
        0x0000_0000_0000_0001, 0x0000_0100_0000_01b3, 0x0003_6600_0002_e329, 0x08a9_7b00_04e7_feab,
        0x9ffa_ac08_5635_bc91, 0x0cae_e32a_7d4f_6a63, 0xdc96_6432_edf1_c639, 0xc552_7b8a_51d3_d2db,
        0x1efa_c709_0aef_4a21,
    ]

    /// Adds a text and a terminator, so that two texts in a row differ from two others with the same concatenation.
    mutating func add(_ text: String) {
        add(text.utf8Span.span)
        add(byte: 0)
    }
}
