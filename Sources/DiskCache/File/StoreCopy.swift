import Glibc
import Platform

/// A copy of the database and its write-ahead log, in a folder of its own, for reading beside the server that uses them.
///
/// The server's lock keeps other connections out. The log is copied after the database, and must still begin with the
/// header that it had before: then all that a checkpoint wrote into the database meanwhile is in the copied log, too, and
/// what was being appended is ignored by its checksum.
final class StoreCopy {
    private let folder: String
    var path: String { folder + "/cache.sqlite" }

    private static let log = "-wal"
    /// Bytes of the log's header; it changes whenever the log begins anew (SQLite's file format, section 4.1).
    private static let headerLength = 32
    /// How often the log may begin anew while it is copied: a server writes some megabytes before it does.
    private static let attempts = 8

    /// Whether something is in the log of a file: then the file alone is not the newest state, or not even a sound one.
    static func isNeeded(for path: String) -> Bool {
        var status = stat()
        return stat(path + log, &status) == 0 && status.st_size > 0
    }

    /// Makes it in the folder for temporary files, `TMPDIR` or `/tmp`.
    init(of path: String) throws(SystemError) {
        let parent = processEnvironment()["TMPDIR"] ?? ""
        var template = Array(((parent.isEmpty ? "/tmp" : parent) + "/httpdnsd-copy-XXXXXX").utf8CString)
        let isMade = template.withUnsafeMutableBufferPointer { $0.baseAddress.flatMap { mkdtemp($0) } != nil }
        folder = String(decoding: template.dropLast().map { UInt8(bitPattern: $0) }, as: UTF8.self)
        guard isMade else { throw .last("make \(folder)") }
        for _ in 0..<Self.attempts {
            let before = try Self.header(of: path)
            try Self.copy(path, to: self.path)
            try Self.copy(path + Self.log, to: self.path + Self.log)
            if before == (try Self.header(of: path)) { return }
        }
        throw SystemError(code: EAGAIN, operation: "copy \(path)")
    }

    /// Removes the files; what has them open can go on.
    deinit {
        for end in ["", Self.log, "-journal"] { unlink(path + end) }
        rmdir(folder)
    }

    /// The first bytes of the log; none where there is no log.
    private static func header(of path: String) throws(SystemError) -> [UInt8] {
        do throws(SystemError) {
            return try readFile(path + log, limit: headerLength)
        } catch {
            guard error.code == ENOENT else { throw error }
            return []
        }
    }

    /// Copies a file; one that is not there becomes an empty one.
    private static func copy(_ path: String, to target: String) throws(SystemError) {
        let output = Descriptor(owning: open(target, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC | O_NOFOLLOW, 0o600))
        guard output.number >= 0 else { throw .last("make \(target)") }
        let input = Descriptor(owning: open(path, O_RDONLY | O_CLOEXEC))
        guard input.number >= 0 else {
            guard errno == ENOENT else { throw .last("open \(path)") }
            return
        }
        var chunk = [UInt8](repeating: 0, count: 1 << 20)
        while true {
            let count = chunk.withUnsafeMutableBytes { read(input.number, $0.baseAddress, $0.count) }
            if count < 0, errno == EINTR { continue }
            guard count >= 0 else { throw .last("read \(path)") }
            guard count > 0 else { return }
            var written = 0
            while written < count {
                let more = chunk[written..<count].withUnsafeBytes { write(output.number, $0.baseAddress, $0.count) }
                if more < 0, errno == EINTR { continue }
                guard more > 0 else { throw .last("write \(target)") }
                written += more
            }
        }
    }
}
