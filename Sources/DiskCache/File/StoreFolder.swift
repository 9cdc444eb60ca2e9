import Glibc
import Platform

/// The folder of the database and its companion files.
struct StoreFolder {
    let path: String

    /// The suffixes of the files that SQLite stores beside the database.
    private static let companions = ["-wal", "-shm"]
    /// The most renamed damaged files that are retained.
    private static let mostDamaged = 3

    /// The path of the lock file.
    var lock: String { path + ".lock" }

    private var directory: String { path.lastIndex(of: "/").map { String(path[..<$0]) } ?? "." }

    /// Creates the folder if only it is missing, and the file, readable by its owner only: it shows which names were
    /// queried.
    func prepare() throws(SystemError) {
        if !directory.isEmpty, unsafe mkdir(directory, 0o700) != 0, errno != EEXIST { throw .last("make \(directory)") }
        let number = unsafe open(path, O_RDWR | O_CREAT | O_EXCL | O_CLOEXEC, 0o600)
        guard number < 0 else { return _ = Descriptor(owning: number) }
        guard errno == EEXIST else { throw .last("make \(path)") }
        // Not opened: closing a descriptor of the file releases SQLite's locks on it.
        var status = stat()
        guard unsafe stat(path, &status) == 0 else { throw .last("stat \(path)") }
        guard status.st_mode & S_IFMT == S_IFREG else {
            throw SystemError(code: EINVAL, operation: "open \(path)", advice: "it is not a regular file")
        }
    }

    /// Removes the index of the write-ahead log that an earlier version, or another program that read the file, has
    /// left. We hold the file's lock, and under it no index is used.
    func removeIndex() { unsafe unlink(path + "-shm") }

    /// The identity of the file at the path; nil when there is none.
    var identity: Identity? {
        var status = stat()
        guard unsafe stat(path, &status) == 0 else { return nil }
        return Identity(device: UInt64(status.st_dev), inode: UInt64(status.st_ino))
    }

    struct Identity: Equatable {
        let device: UInt64
        let inode: UInt64
    }

    /// Renames the database, which must be ours, and its companions, so that a new one can be started.
    ///
    /// - Parameter seconds: since 1970, for its new name; not negative.
    /// - Returns: its new path; nil when it cannot be renamed, or when there are three that may not be removed: then
    ///   this one is removed.
    func quarantine(at seconds: Int64) -> String? {
        let target = makeRoomForDamaged() ? nextDamaged(at: seconds) : nil
        let isRenamed = target.map { unsafe rename(path, $0) == 0 } ?? false
        if !isRenamed { unsafe unlink(path) }
        for companion in Self.companions {
            // A write-ahead log without its database would be applied to the next one.
            if unsafe !isRenamed || rename(path + companion, (target ?? "") + companion) != 0 {
                unsafe unlink(path + companion)
            }
        }
        return isRenamed ? target : nil
    }

    /// The path to which the next damaged file is renamed.
    private func nextDamaged(at seconds: Int64) -> String {
        var target = "\(path).damaged-\(seconds)"
        var count = 1
        while unsafe access(target, F_OK) == 0 {
            count += 1
            target = "\(path).damaged-\(seconds)-\(count)"
        }
        return target
    }

    /// Removes the oldest damaged files that are ours, so that a failing disk does not fill up with them.
    ///
    /// - Returns: whether there is room for one more.
    private func makeRoomForDamaged() -> Bool {
        let files = damaged
        let excess = max(0, files.count - Self.mostDamaged + 1)
        let oldest = files.filter { (try? FileOwner(of: $0)) == .us }.prefix(excess)
        for path in oldest { for end in [""] + Self.companions { unsafe unlink(path + end) } }
        return oldest.count == excess
    }

    /// The damaged files beside the database, the oldest first; without files whose names only begin alike.
    private var damaged: [String] {
        guard let stream = unsafe opendir(directory.isEmpty ? "/" : directory),
            let prefix = path.split(separator: "/").last.map({ "\($0).damaged-" })
        else { return [] }
        defer { unsafe closedir(stream) }
        var found: [(path: String, age: [Int64])] = []
        while let entry = unsafe readdir(stream) {
            let name = unsafe withUnsafeBytes(of: &entry.pointee.d_name) { bytes in
                unsafe String(decoding: bytes.prefix { $0 != 0 }, as: UTF8.self)
            }
            guard name.hasPrefix(prefix) else { continue }
            let parts = name.dropFirst(prefix.count).split(separator: "-", omittingEmptySubsequences: false)
            let numbers = parts.compactMap { Int64($0) }
            // The form that `nextDamaged` writes: the time, and a number from 2 on for further ones in that second.
            guard (1...2).contains(numbers.count), numbers.map(String.init) == parts.map(String.init) else { continue }
            found.append(("\(directory)/\(name)", numbers))
        }
        return found.sorted { $0.age.lexicographicallyPrecedes($1.age) }.map(\.path)
    }
}
