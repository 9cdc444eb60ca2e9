import CSystem.Linux
public import DNSWire
import Glibc

/// Reports when files are written, replaced, created or removed (inotify(7)). Costs nothing while they do not change.
///
/// A file is mostly replaced by renaming another one, so its directory is watched; it or a directory above may be a symbolic
/// link, so the directory of each link on the way is watched too; and it may be bind-mounted and written elsewhere, so the file
/// itself is watched. For a missing directory, the nearest existing ancestor is watched.
@Loop
public final class FileWatch {
    /// The most symbolic links that are followed for one file: as many as the kernel follows.
    private static let longestChain = 40
    /// Bytes, for some hundred events; more than that in one turn are read in the next.
    private static let bufferSize = 16 << 10

    private let paths: [String]
    private let descriptor: Descriptor
    private let handler: @Loop () -> Void
    private var watch: Watch?
    /// The relevant names of each watched directory, by watch; nil for a watched file.
    private var names: [Int32: Set<String>?] = [:]

    /// - Parameters:
    ///   - paths: absolute paths.
    ///   - handler: called after an event for one of them, perhaps several times for one change.
    public init(
        _ paths: [String], on loop: EventLoop, _ handler: @escaping @Loop () -> Void
    ) throws(SystemError) {
        self.paths = paths
        self.handler = handler
        descriptor = Descriptor(owning: try checked(clinux_inotify_create(), "watch files (inotify)"))
        watch = try loop.watch(descriptor.number, for: .readable) { [weak self] _ in self?.receive() }
        lookAround()
    }

    /// Stops watching; `handler` is not called any more.
    public func cancel() {
        watch.take()?.cancel()
    }

    private func receive() {
        var buffer = [UInt8](repeating: 0, count: Self.bufferSize)
        let count = unsafe buffer.withUnsafeMutableBytes { unsafe read(descriptor.number, $0.baseAddress, $0.count) }
        guard count > 0 else { return }
        guard FileEvents(buffer.prefix(count)).contains(where: isWanted) else { return }
        // The watched files may be gone, or the links may have other targets.
        lookAround()
        handler()
    }

    private func isWanted(_ event: FileEvent) -> Bool {
        // The event for an overflow of the queue belongs to no watch.
        guard let wanted = names[event.watch] else { return event.watch < 0 }
        guard let wanted else { return !event.isEndOfWatch }
        return event.isOfDirectory || wanted.contains(event.name)
    }

    /// Watches the files that the paths lead to now, and nothing else.
    private func lookAround() {
        let old = names
        names = [:]
        for path in paths { follow(path) }
        for number in old.keys where names[number] == nil { clinux_inotify_remove(descriptor.number, number) }
    }

    /// Watches for the file, and for each symbolic link on the way to it: the file itself may be one, or any directory.
    private func follow(_ path: String) {
        var left = Self.steps(of: path)
        var directory = ""
        var links = 0
        while let name = left.popLast() {
            let here = directory + "/" + name
            guard name != ".." else {
                directory = Self.split(directory).directory
                continue
            }
            guard left.isEmpty || linkTarget(here) != nil else {
                directory = here
                continue
            }
            // Before the link is read, so that no change is missed in between.
            watchDirectory(directory, for: name)
            guard let target = linkTarget(here) else {
                // It may be that only the directory is not readable.
                if left.isEmpty { watchFile(here) } else { directory = here }
                continue
            }
            links += 1
            guard links <= Self.longestChain else { return }
            if target.hasPrefix("/") { directory = "" }
            left += Self.steps(of: target)
        }
    }

    /// The names in a path, the last one first.
    private static func steps(of path: String) -> [String] {
        path.split(separator: "/").filter { $0 != "." }.reversed().map(String.init)
    }

    /// Watches for `name` in a directory; where the directory is missing, watches for it in its parent.
    ///
    /// - Parameter directory: empty: the root.
    private func watchDirectory(_ directory: String, for name: String) {
        let number = unsafe clinux_inotify_watch_directory(descriptor.number, directory.isEmpty ? "/" : directory)
        if number >= 0 {
            names[number, default: []]?.insert(name)
            return
        }
        guard !directory.isEmpty else { return }
        let (above, missing) = Self.split(directory)
        watchDirectory(above, for: missing)
    }

    private func watchFile(_ path: String) {
        let number = unsafe clinux_inotify_watch_file(descriptor.number, path)
        if number >= 0 { names[number] = .some(nil) }
    }

    /// - Parameter path: of a directory; empty: the root.
    private static func split(_ path: String) -> (directory: String, name: String) {
        guard let slash = path.lastIndex(of: "/") else { return ("", path) }
        return (String(path[..<slash]), String(path[path.index(after: slash)...]))
    }
}

/// One event of inotify.
public struct FileEvent: Hashable, Sendable {
    /// The number of its watch; negative when events were lost.
    public var watch: Int32
    public var mask: UInt32
    /// The name of the file in a watched directory; empty for the watched file or directory itself.
    public var name: String

    /// Whether the watched directory itself was moved, removed or unmounted.
    var isOfDirectory: Bool { name.isEmpty }
    /// Whether the kernel has removed the watch (IN_IGNORED), at our request or after an event that says why.
    var isEndOfWatch: Bool { mask & 0x8000 != 0 }
}

/// Splits the bytes read from inotify into events; an invalid length ends the parsing.
public struct FileEvents: Sequence, IteratorProtocol {
    private static let headerLength = 16
    private var rest: ArraySlice<UInt8>

    public init(_ bytes: ArraySlice<UInt8>) { rest = bytes }

    public mutating func next() -> FileEvent? {
        guard let watch: UInt32 = rest.native(at: 0), let mask: UInt32 = rest.native(at: 4),
            let length: UInt32 = rest.native(at: 12), Int(length) <= rest.count - Self.headerLength
        else { return nil }
        let name = rest.dropFirst(Self.headerLength).prefix(Int(length)).prefix { $0 != 0 }
        rest = rest.dropFirst(Self.headerLength + Int(length))
        return FileEvent(
            watch: Int32(bitPattern: watch), mask: mask, name: String(decoding: name, as: UTF8.self))
    }
}
