/// The fuzzer's input as a list of steps, read byte by byte.
package struct Script {
    private var rest: ArraySlice<UInt8>

    package init(_ data: UnsafePointer<UInt8>?, _ count: Int) {
        rest = Array(UnsafeBufferPointer(start: data, count: count))[...]
    }

    /// The next byte; nil at the end.
    package mutating func next() -> UInt8? { rest.popFirst() }

    /// The next byte as a number; 0 at the end.
    package mutating func number() -> Int { Int(next() ?? 0) }

    /// The next `count` bytes, or what is left.
    package mutating func bytes(_ count: Int) -> [UInt8] {
        defer { rest = rest.dropFirst(count) }
        return Array(rest.prefix(count))
    }
}
