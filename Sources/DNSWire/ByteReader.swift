/// Takes big-endian numbers and byte strings, one after the other, from bytes that something outside of this process made.
public struct ByteReader {
    /// What was not taken yet.
    public private(set) var rest: ArraySlice<UInt8>

    public init(_ bytes: ArraySlice<UInt8>) { rest = bytes }

    public init(_ bytes: [UInt8]) { rest = bytes[...] }

    public var isAtEnd: Bool { rest.isEmpty }

    /// The next bytes; nil, and nothing is taken, where there are fewer.
    public mutating func bytes(_ count: Int) -> ArraySlice<UInt8>? {
        guard count <= rest.count else { return nil }
        let taken = rest.prefix(count)
        rest = rest[taken.endIndex...]
        return taken
    }

    /// The number that the next bytes are, 7 of them at most; nil where there are fewer.
    public mutating func number(_ count: Int) -> Int? { bytes(count).map { Int(truncatingIfNeeded: $0.number) } }

    /// The next string, which stands behind its length in so many bytes; nil where less than that is left.
    public mutating func string(behind count: Int) -> ArraySlice<UInt8>? { number(count).flatMap { bytes($0) } }
}

extension ArraySlice<UInt8> {
    /// The big-endian number that these bytes are, 8 of them at most.
    public var number: UInt64 { reduce(0) { $0 << 8 | UInt64($1) } }
}

extension [UInt8] {
    /// Appends the last bytes of a number, big-endian.
    @inlinable
    public mutating func append(_ number: some FixedWidthInteger, bytes count: Int) {
        append(UInt64(truncatingIfNeeded: number), last: count)
    }

    /// Of one type, as a generic loop would be run by way of the runtime in every other module.
    @usableFromInline
    mutating func append(_ number: UInt64, last count: Int) {
        for shift in stride(from: (count - 1) * 8, through: 0, by: -8) {
            append(UInt8(truncatingIfNeeded: number >> UInt64(shift)))
        }
    }
}
