import DNSWire
import Glibc
import Platform

/// The place of the database, and its companion files.
struct StoreFolder {
    let path: String

    /// Creates the folder if only it is missing, and the file, readable by its owner only: it shows which names were
    /// queried.
    func prepare() throws(SystemError) {
        let directory = path.lastIndex(of: "/").map { String(path[..<$0]) } ?? "."
        if !directory.isEmpty, unsafe mkdir(directory, 0o700) != 0, errno != EEXIST { throw .last("make \(directory)") }
        let number = unsafe open(path, O_RDWR | O_CREAT | O_EXCL | O_CLOEXEC, 0o600)
        guard number < 0 else { return _ = Descriptor(owning: number) }
        guard errno == EEXIST else { throw .last("make \(path)") }
        var status = stat()
        guard unsafe stat(path, &status) == 0 else { throw .last("stat \(path)") }
        guard status.st_mode & S_IFMT == S_IFREG else {
            throw SystemError(code: EINVAL, operation: "open \(path)", advice: "it is not a regular file")
        }
    }

    /// Device and inode of the file at the path; nil when there is none, or it cannot be reached.
    var identity: [UInt64]? {
        var status = stat()
        return unsafe stat(path, &status) == 0 ? [UInt64(status.st_dev), UInt64(status.st_ino)] : nil
    }

    /// Why the path does not lead to a file that was opened by it any more; nil: it does.
    func loss(of opened: [UInt64]?) -> String? {
        if let identity { return identity == opened ? nil : "\(path) is another file now" }
        return errno == ENOENT ? "\(path) is gone" : SystemError.last("stat \(path)").description
    }

    /// Renames the database, which must be ours, and its log, so that a new one can be started, over the one renamed
    /// before. Returns its new path; nil when it cannot be renamed, or a file that is not ours has that name: then it is
    /// removed.
    func quarantine() -> String? {
        let target = path + ".damaged"
        // What cannot be opened may be another program's.
        let isFree = unsafe access(target, F_OK) != 0 || (try? Self.isOurs(target)) == true
        let isRenamed = unsafe isFree && rename(path, target) == 0
        if !isRenamed { unsafe unlink(path) }
        // What SQLite stores beside the database.
        for companion in ["-wal", "-shm"] {
            if isRenamed { unsafe unlink(target + companion) }
            // A write-ahead log without its database would be applied to the next one.
            if unsafe !isRenamed || rename(path + companion, target + companion) != 0 {
                unsafe unlink(path + companion)
            }
        }
        return isRenamed ? target : nil
    }

    /// The first bytes of a database, and the place of its application_id (SQLite's file format, section 1.3).
    private static let magic = Array("SQLite format 3\0".utf8)
    private static let idPlace = 68..<72

    /// Whether a file is ours, by its first bytes; only then it may be written, renamed or deleted. It is if it is a database
    /// with our `application_id`, damaged or not, or empty. A file of ours whose header is damaged is not: nothing in it
    /// identifies it.
    ///
    /// Called while this process has no connection to it: closing any descriptor of a file releases SQLite's locks on it.
    static func isOurs(_ path: String) throws(SystemError) -> Bool {
        let header = try readFile(path, limit: idPlace.upperBound)
        return header.isEmpty
            || header.count == idPlace.upperBound && header.starts(with: magic)
                && header[idPlace].number == AnswerFile.applicationID
    }
}
