/// One thing that inotify tells.
package struct FileEvent: Hashable, Sendable {
    /// Of which watch; negative when events were lost.
    package var watch: Int32
    package var mask: UInt32
    /// Of what is in a directory; empty for the watched thing itself.
    package var name: String

    /// The directory itself was moved, removed or unmounted.
    var isOfDirectory: Bool { name.isEmpty }
    /// The kernel has ended the watch (IN_IGNORED), as we asked it to or after an event that said why.
    var isEndOfWatch: Bool { mask & 0x8000 != 0 }
}

/// Cuts what was read from inotify into events; what does not fit ends the reading.
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
