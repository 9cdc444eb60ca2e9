import Glibc
import Platform

/// The program to which a file belongs, by its first bytes: only a file of ours may be written, renamed or deleted.
enum FileOwner: Equatable {
    /// A database with our `application_id`, damaged or not; or an empty file, which has no data of another program.
    case us
    /// Anything else, also a file of ours whose header is damaged, since nothing in it identifies it.
    case another

    /// The first bytes of a database, and the offset of its application_id, big-endian (SQLite's file format, section
    /// 1.3).
    private static let magic = Array("SQLite format 3\0".utf8)
    private static let place = 68..<72

    /// Reads the header of a file. Called while this process has no connection to it: closing any descriptor of a file
    /// releases SQLite's locks on it.
    init(of path: String) throws(SystemError) {
        let number = unsafe open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK | O_NOCTTY)
        guard number >= 0 else { throw .last("open \(path)") }
        let descriptor = Descriptor(owning: number)
        var header = [UInt8](repeating: 0, count: Self.place.upperBound)
        let count = unsafe header.withUnsafeMutableBytes {
            unsafe pread(descriptor.number, $0.baseAddress, $0.count, 0)
        }
        guard count >= 0 else { throw .last("read \(path)") }
        let isDatabase = count == header.count && header.starts(with: Self.magic)
        let id = header[Self.place].reduce(0) { $0 << 8 | Int64($1) }
        self = count == 0 || (isDatabase && id == StoreSchema.applicationID) ? .us : .another
    }
}
