import DNSWire
import Testing

/// A valid name; the root, and a failed test, when it is not.
func name(_ text: String) -> Name {
    do {
        return try Name(text)
    } catch {
        Issue.record("\(text): \(error)")
        return .root
    }
}

/// Bytes from hexadecimal digits; spaces and line ends are ignored.
func hex(_ text: String) -> [UInt8] {
    let digits = text.compactMap(\.hexDigitValue)
    return stride(from: 0, to: digits.count - 1, by: 2).map { UInt8(digits[$0] << 4 | digits[$0 + 1]) }
}
