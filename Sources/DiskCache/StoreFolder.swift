import Glibc
import Platform

/// The folder with the database and the files that belong to it.
struct StoreFolder {
    let path: String

    /// What SQLite keeps beside the database, and we do.
    private static let companions = ["-wal", "-shm"]
    /// How many files that were set aside are kept.
    private static let keptAside = 3

    /// The name of the file that holds the lock.
    var lock: String { path + ".lock" }

    private var directory: String { path.lastIndex(of: "/").map { String(path[..<$0]) } ?? "." }

    /// Makes the folder if only it is missing, and the file, readable by nobody else: it tells which names were asked for.
    func prepare() throws(SystemError) {
        if !directory.isEmpty, mkdir(directory, 0o700) != 0, errno != EEXIST { throw .last("make \(directory)") }
        let number = open(path, O_RDWR | O_CREAT | O_EXCL | O_CLOEXEC, 0o600)
        guard number < 0 else { return _ = Descriptor(owning: number) }
        guard errno == EEXIST else { throw .last("make \(path)") }
        // Not opened: a descriptor that is closed takes SQLite's locks on the file with it.
        var status = stat()
        guard stat(path, &status) == 0 else { throw .last("stat \(path)") }
        guard status.st_mode & S_IFMT == S_IFREG else {
            throw SystemError(code: EINVAL, operation: "open \(path)", advice: "it is not a regular file")
        }
    }

    /// Which file stands at the path; nil when there is none.
    var identity: Identity? {
        var status = stat()
        guard stat(path, &status) == 0 else { return nil }
        return Identity(device: UInt64(status.st_dev), inode: UInt64(status.st_ino))
    }

    struct Identity: Equatable {
        let device: UInt64
        let inode: UInt64
    }

    /// Renames the database and what belongs to it, so that another one can be begun.
    ///
    /// - Parameter seconds: since 1970, for its new name.
    /// - Returns: its new path; nil when it cannot be renamed, and then it is removed if that can be done.
    func setAside(at seconds: Int64) -> String? {
        removeOldAside()
        var target = "\(path).damaged-\(seconds)"
        var count = 1
        while access(target, F_OK) == 0 {
            count += 1
            target = "\(path).damaged-\(seconds)-\(count)"
        }
        let isRenamed = rename(path, target) == 0
        if !isRenamed { unlink(path) }
        for companion in Self.companions {
            // A log of changes without its database would be played into the next one.
            if !isRenamed || rename(path + companion, target + companion) != 0 { unlink(path + companion) }
        }
        return isRenamed ? target : nil
    }

    /// Removes the oldest of those set aside before, so that a failing disk is not filled with them.
    private func removeOldAside() {
        guard let stream = opendir(directory.isEmpty ? "/" : directory) else { return }
        defer { closedir(stream) }
        let prefix = path.split(separator: "/").last.map { "\($0).damaged-" } ?? ""
        var names: [String] = []
        while let entry = readdir(stream) {
            let name = withUnsafeBytes(of: &entry.pointee.d_name) { bytes in
                String(decoding: bytes.prefix { $0 != 0 }, as: UTF8.self)
            }
            if !prefix.isEmpty, name.hasPrefix(prefix) { names.append(name) }
        }
        let databases = names.filter { name in !Self.companions.contains { name.hasSuffix($0) } }.sorted()
        for name in databases.dropLast(Self.keptAside - 1) {
            for end in [""] + Self.companions { unlink("\(directory)/\(name)\(end)") }
        }
    }
}
