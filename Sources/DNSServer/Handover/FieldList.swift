/// Byte strings one after the other in a file, each behind its length in four bytes.
struct FieldList {
    private(set) var bytes: [UInt8]
    /// Index of the first byte that `next()` has not returned.
    private var start = 0

    /// - Parameter bytes: of a file; empty: a new one.
    init(_ bytes: [UInt8] = []) { self.bytes = bytes }

    /// Appends a string; one of 4 GiB would be cut.
    mutating func append(_ field: [UInt8]) {
        let length = UInt32(clamping: field.count)
        for shift: UInt32 in [24, 16, 8, 0] { bytes.append(UInt8(truncatingIfNeeded: length >> shift)) }
        bytes.append(contentsOf: field.prefix(Int(length)))
    }

    /// Returns the next string; nil at the end, and when less than a whole one is left.
    mutating func next() -> [UInt8]? {
        guard bytes.count - start >= 4 else { return nil }
        let length = bytes[start..<(start + 4)].reduce(0) { $0 << 8 | Int($1) }
        guard bytes.count - start - 4 >= length else { return nil }
        let first = start + 4
        start = first + length
        return Array(bytes[first..<start])
    }
}
