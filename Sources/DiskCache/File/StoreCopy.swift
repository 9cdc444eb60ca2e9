import Glibc
import Platform

/// A copy of the database and its write-ahead log, in a temporary folder, for reading while a server uses them.
///
/// The server's lock excludes other connections. The log is copied after the database, and its header must be the same
/// afterwards as before: then all that a checkpoint wrote into the database meanwhile is in the copied log, too, and a
/// record that was being appended is ignored by its checksum.
final class StoreCopy {
    private let folder: String
    var path: String { folder + "/cache.sqlite" }

    private static let log = "-wal"
    /// Bytes of the log's header; it changes whenever the log restarts (SQLite's file format, section 4.1).
    private static let headerLength = 32
    /// The most restarts of the log during the copy: a server writes some megabytes before it restarts it.
    private static let attempts = 8

    /// Whether a file's log is not empty: then the file alone is not the newest state, or not even a consistent one.
    static func isNeeded(for path: String) -> Bool {
        var status = stat()
        return unsafe stat(path + log, &status) == 0 && status.st_size > 0
    }

    /// Creates the copy in the folder for temporary files, `TMPDIR` or `/tmp`.
    init(of path: String) throws(SystemError) {
        let parent = processEnvironment()["TMPDIR"] ?? ""
        var template = Array(((parent.isEmpty ? "/tmp" : parent) + "/httpdnsd-copy-XXXXXX").utf8CString)
        let isMade = unsafe template.withUnsafeMutableBufferPointer {
            unsafe $0.baseAddress.flatMap { unsafe mkdtemp($0) } != nil
        }
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

    /// Removes the files; a connection that has them open can continue.
    deinit {
        for end in ["", Self.log, "-journal"] { unsafe unlink(path + end) }
        unsafe rmdir(folder)
    }

    /// The first bytes of the log; empty where there is no log.
    private static func header(of path: String) throws(SystemError) -> [UInt8] {
        do throws(SystemError) {
            return try readFile(path + log, limit: headerLength)
        } catch {
            guard error.code == ENOENT else { throw error }
            return []
        }
    }

    /// Copies a file; a missing one becomes an empty one.
    private static func copy(_ path: String, to target: String) throws(SystemError) {
        let output = unsafe Descriptor(
            owning: open(target, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC | O_NOFOLLOW, 0o600))
        guard output.number >= 0 else { throw .last("make \(target)") }
        let input = unsafe Descriptor(owning: open(path, O_RDONLY | O_CLOEXEC))
        guard input.number >= 0 else {
            guard errno == ENOENT else { throw .last("open \(path)") }
            return
        }
        var chunk = [UInt8](repeating: 0, count: 1 << 20)
        while true {
            let count = unsafe chunk.withUnsafeMutableBytes { unsafe read(input.number, $0.baseAddress, $0.count) }
            if count < 0, errno == EINTR { continue }
            guard count >= 0 else { throw .last("read \(path)") }
            guard count > 0 else { return }
            var written = 0
            while written < count {
                let more = unsafe chunk[written..<count].withUnsafeBytes {
                    unsafe write(output.number, $0.baseAddress, $0.count)
                }
                if more < 0, errno == EINTR { continue }
                guard more > 0 else { throw .last("write \(target)") }
                written += more
            }
        }
    }
}
