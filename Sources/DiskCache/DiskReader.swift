public import DNSWire
import Glibc
import Platform

/// The reason why a file cannot be read, in one line.
public struct DiskReaderError: Error, Hashable, Sendable {
    public let text: String
}

/// Read-only access to a file of answers, also to one that a server uses: it reads a copy.
public final class DiskReader {
    private let file: AnswerFile
    private let path: String
    private let records: [StateRecord.Key: StateRecord]

    /// - Throws: for a file that is not a cache of this program, and where there is no room for a copy.
    public init(_ path: String) throws(DiskReaderError) {
        self.path = path
        let copy: StoreCopy
        do throws(SystemError) { copy = try StoreCopy(of: path) } catch { throw DiskReaderError(text: "\(error)") }
        (file, records) = try Self.reading(path) { () throws(SQLiteError) in
            let file = try withExtendedLifetime(copy) { () throws(SQLiteError) in try AnswerFile(copy.path) }
            return (file, try file.connection.records())
        }
    }

    /// Calls `body` with the answers below `suffix`, or with all, the newest first, until it returns false. Returns whether
    /// it was called for all; throws at the end if there were damaged ones, which are left out.
    public func forEach(below suffix: Name?, _ body: (StoredAnswer) -> Bool) throws(DiskReaderError) -> Bool {
        try Self.reading(path) { () throws(SQLiteError) in
            var next: Int64? = .max
            var count = 0
            while let position = next {
                let (answers, following, damaged) = try file.page(from: position, limit: 1_024)
                count += damaged
                for answer in answers where suffix.map({ answer.question.name.isWithin($0) }) ?? true {
                    guard body(answer) else { return false }
                }
                next = following
            }
            guard count == 0 else { throw SQLiteError(damaged: "some answers are damaged, and left out") }
            return true
        }
    }

    /// The answers of one name.
    public func answers(of name: Name) throws(DiskReaderError) -> [StoredAnswer] {
        try Self.reading(path) { () throws(SQLiteError) in try file.answers(of: name) }
    }

    /// The text of an answer's source, as `PolicyIdentity` has it; empty where the file does not have it.
    public func source(of answer: StoredAnswer) -> String {
        records[StateRecord.Key(ofSource: answer.head.source)]?.value ?? ""
    }

    private static func reading<Value>(
        _ path: String, _ body: () throws(SQLiteError) -> Value
    ) throws(DiskReaderError) -> Value {
        do throws(SQLiteError) {
            return try body()
        } catch {
            throw DiskReaderError(text: "\(path): \(error)")
        }
    }
}

/// A copy of the database and its write-ahead log, in a temporary folder, which goes with its owner; a connection that has
/// it open can continue.
///
/// A server's lock excludes other connections, and of a server that was killed SQLite would put the log into the file. The
/// log is copied after the database, and its header must be the same afterwards as before: then all that a checkpoint wrote
/// into the database meanwhile is in the copied log, too, and a record that was being appended is ignored by its checksum.
private final class StoreCopy {
    private let folder: String
    var path: String { folder + "/cache.sqlite" }

    private static let log = "-wal"
    /// The most restarts of the log during the copy: a server writes some megabytes before it restarts it.
    private static let attempts = 8

    /// Creates the copy in the folder for temporary files, `TMPDIR` or `/tmp`.
    init(of path: String) throws(SystemError) {
        let parent = processEnvironment()["TMPDIR"] ?? ""
        var template = Array(((parent.isEmpty ? "/tmp" : parent) + "/httpdnsd-copy-XXXXXX").utf8CString)
        let isMade = unsafe template.withUnsafeMutableBufferPointer {
            unsafe $0.baseAddress.flatMap { unsafe mkdtemp($0) } != nil
        }
        folder = String(decoding: template.dropLast().map { UInt8(truncatingIfNeeded: $0) }, as: UTF8.self)
        guard isMade else { throw .last("make \(folder)") }
        for _ in 0..<Self.attempts {
            let before = Self.header(of: path)
            try Self.copy(path, to: self.path)
            try Self.copy(path + Self.log, to: self.path + Self.log, isOptional: true)
            if before == Self.header(of: path) { return }
        }
        throw SystemError(code: EAGAIN, operation: "copy \(path)")
    }

    deinit {
        for end in ["", Self.log] { unsafe unlink(path + end) }
        unsafe rmdir(folder)
    }

    /// The header of the log, which changes whenever that restarts (SQLite's file format, section 4.1); empty where there is
    /// none. What else keeps it from being read keeps the log from being copied.
    private static func header(of path: String) -> [UInt8] { (try? readFile(path + log, limit: 32)) ?? [] }

    /// - Parameter isOptional: whether an empty file is the copy of none.
    private static func copy(_ path: String, to target: String, isOptional: Bool = false) throws(SystemError) {
        let output = unsafe Descriptor(
            owning: open(target, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC | O_NOFOLLOW, 0o600))
        guard output.number >= 0 else { throw .last("make \(target)") }
        let input = unsafe Descriptor(owning: open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK))
        guard input.number >= 0 else {
            guard isOptional, errno == ENOENT else { throw .last("open \(path)") }
            return
        }
        var status = stat()
        guard unsafe fstat(input.number, &status) == 0, status.st_mode & S_IFMT == S_IFREG else {
            throw SystemError(code: EINVAL, operation: "copy \(path), which is no file")
        }
        while true {
            let count = sendfile(output.number, input.number, nil, 1 << 30)
            if count == 0 { return }
            guard count > 0 || errno == EINTR else { throw .last("copy \(path) to \(target)") }
        }
    }
}
