/// One event of inotify.
package struct FileEvent: Hashable, Sendable {
    /// The number of its watch; negative when events were lost.
    package var watch: Int32
    package var mask: UInt32
    /// The name of the file in a watched directory; empty for the watched file or directory itself.
    package var name: String

    /// Whether the watched directory itself was moved, removed or unmounted.
    var isOfDirectory: Bool { name.isEmpty }
    /// Whether the kernel has removed the watch (IN_IGNORED), at our request or after an event that says why.
    var isEndOfWatch: Bool { mask & 0x8000 != 0 }
}

/// Splits the bytes read from inotify into events; an invalid length ends the parsing.
package struct FileEvents: Sequence, IteratorProtocol {
    private static let headerLength = 16
    private var rest: ArraySlice<UInt8>

    package init(_ bytes: ArraySlice<UInt8>) { rest = bytes }

    package mutating func next() -> FileEvent? {
        guard let watch: UInt32 = rest.native(at: 0), let mask: UInt32 = rest.native(at: 4),
            let length: UInt32 = rest.native(at: 12), Int(length) <= rest.count - Self.headerLength
        else { return nil }
        let name = rest.dropFirst(Self.headerLength).prefix(Int(length)).prefix { $0 != 0 }
        rest = rest.dropFirst(Self.headerLength + Int(length))
        return FileEvent(
            watch: Int32(bitPattern: watch), mask: mask, name: String(decoding: name, as: UTF8.self))
    }
}
