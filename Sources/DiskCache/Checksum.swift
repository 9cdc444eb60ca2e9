/// FNV-1a with 64 bits: detects changes of a row by a failing disk. It is no protection against deliberate changes.
///
/// - Parameter start: the checksum of the bytes before; default: there are none.
func checksum(of bytes: some Sequence<UInt8>, after start: UInt64 = 0xcbf2_9ce4_8422_2325) -> UInt64 {
    bytes.reduce(start) { ($0 ^ UInt64($1)) &* 0x0000_0100_0000_01b3 }
}

/// Bytes of it in a value.
let checksumSize = 8
