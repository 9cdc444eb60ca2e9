/// A fuzz target's input as a list of steps, read byte by byte.
struct Script {
    private var rest: ArraySlice<UInt8>

    init(_ input: [UInt8]) { rest = input[...] }

    /// The next byte; nil at the end.
    mutating func next() -> UInt8? { rest.popFirst() }

    /// The next byte as a number; 0 at the end.
    mutating func number() -> Int { Int(next() ?? 0) }

    /// The next `count` bytes, or what is left.
    mutating func bytes(_ count: Int) -> [UInt8] {
        defer { rest = rest.dropFirst(count) }
        return Array(rest.prefix(count))
    }
}
