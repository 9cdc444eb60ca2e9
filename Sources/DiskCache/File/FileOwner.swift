import Glibc
import Platform

/// Which program a file belongs to, by its first bytes: only a file of ours may be written, moved away or deleted.
enum FileOwner: Equatable {
    /// A database with our `application_id`, sound or not; or an empty file, which holds nothing of another program.
    case us
    /// Anything else, also a file of ours whose header is damaged: nothing in it tells that it is.
    case another

    /// How a database begins, and where its application_id stands, big-endian (SQLite's file format, section 1.3).
    private static let magic = Array("SQLite format 3\0".utf8)
    private static let place = 68..<72

    /// Reads the header of a file. To be called while this process has no connection to it: SQLite's locks on a file go with
    /// any descriptor of it that is closed.
    init(of path: String) throws(SystemError) {
        let number = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK | O_NOCTTY)
        guard number >= 0 else { throw .last("open \(path)") }
        let descriptor = Descriptor(owning: number)
        var header = [UInt8](repeating: 0, count: Self.place.upperBound)
        let count = header.withUnsafeMutableBytes { pread(descriptor.number, $0.baseAddress, $0.count, 0) }
        guard count >= 0 else { throw .last("read \(path)") }
        let isDatabase = count == header.count && header.starts(with: Self.magic)
        let id = header[Self.place].reduce(0) { $0 << 8 | Int64($1) }
        self = count == 0 || (isDatabase && id == StoreSchema.applicationID) ? .us : .another
    }
}
