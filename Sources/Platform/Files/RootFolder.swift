import CSystem.Linux
import Glibc

/// A folder that stands for `/`, as of an image of a machine: no path and no link below it leads out of it (openat2(2),
/// Linux 5.6).
public struct RootFolder: Sendable {
    /// Empty for this machine's own `/`; otherwise the path of a folder, without a slash at its end.
    public let path: String

    public init(_ path: String) { self.path = path }

    /// Opens a file that is there, closed on exec.
    ///
    /// - Parameters:
    ///   - path: absolute, below the folder.
    ///   - flags: of open(2), without those that make a file.
    public func open(_ path: String, _ flags: Int32) throws(SystemError) -> Descriptor {
        let name = self.path + path
        guard !self.path.isEmpty else {
            let number = unsafe Glibc.open(path, flags | O_CLOEXEC)
            guard number >= 0 else { throw .last("open \(name)") }
            return Descriptor(owning: number)
        }
        let folder = unsafe Glibc.open(self.path, Self.place | O_DIRECTORY | O_CLOEXEC)
        guard folder >= 0 else { throw .last("open \(self.path)") }
        let root = Descriptor(owning: folder)
        return Descriptor(owning: unsafe try checked(clinux_open_in_root(root.number, path, flags), "open \(name)"))
    }

    /// Opens the folder of a file, for calls that take its last name, and follow no link there.
    ///
    /// - Parameter file: absolute.
    public func openFolder(of file: String) throws(SystemError) -> Descriptor {
        try open(file.lastIndex(of: "/").map { String(file[...$0]) } ?? "/", Self.place | O_DIRECTORY)
    }

    /// The path on this machine of a file that is there, without links.
    public func place(of file: String) throws(SystemError) -> String {
        let descriptor = try open(file, Self.place)
        guard let place = linkTarget("/proc/self/fd/\(descriptor.number)") else { throw .last("find \(path + file)") }
        return place
    }

    /// What is in a folder, each with whether it is a folder itself; nil where it cannot be listed.
    ///
    /// - Parameter folder: absolute.
    public func entries(of folder: String) -> [(name: String, isFolder: Bool)]? {
        guard let number = (try? open(folder, O_RDONLY | O_DIRECTORY))?.release() else { return nil }
        guard let listing = unsafe fdopendir(number) else {
            close(number)
            return nil
        }
        defer { unsafe closedir(listing) }
        var entries: [(name: String, isFolder: Bool)] = []
        while let entry = unsafe readdir(listing) {
            let name = unsafe withUnsafeBytes(of: entry.pointee.d_name) { bytes in
                unsafe String(decoding: bytes.prefix { $0 != 0 }, as: UTF8.self)
            }
            entries.append((name, unsafe entry.pointee.d_type == UInt8(DT_DIR)))
        }
        return entries
    }

    /// O_PATH, which the Glibc module lacks.
    private static let place: Int32 = 0o10000000
}

/// Where a symbolic link leads, as it is written; nil for everything else.
///
/// - Parameter folder: the descriptor of the folder from which `path` counts; nil: an absolute one.
public func linkTarget(_ path: String, from folder: Int32? = nil) -> String? {
    var buffer = [CChar](repeating: 0, count: Int(PATH_MAX))
    let count = unsafe readlinkat(folder ?? AT_FDCWD, path, &buffer, buffer.count)
    guard count > 0 else { return nil }
    return String(decoding: buffer.prefix(count).map { UInt8(truncatingIfNeeded: $0) }, as: UTF8.self)
}

/// A folder that belongs to the system, where other programs find their files: what may write there may change them.
public struct SystemFolder: Sendable {
    /// Through all links.
    public let path: String
    /// Whether every user may make files there, and remove their own alone, as in `/tmp`.
    public let isForAll: Bool

    /// Those of the Filesystem Hierarchy Standard, and systemd's.
    private static let alone: Set<String> = [
        "/", "/dev", "/dev/shm", "/home", "/media", "/mnt", "/opt", "/root", "/run", "/run/lock", "/run/private",
        "/run/shm", "/run/user", "/srv", "/tmp", "/usr", "/usr/local", "/var", "/var/backups", "/var/cache",
        "/var/cache/private", "/var/db", "/var/lib", "/var/lib/private", "/var/local", "/var/log", "/var/log/private",
        "/var/mail", "/var/opt", "/var/spool", "/var/tmp",
    ]
    /// Those whose folders are the system's as well: the configuration is in one.
    private static let withAllBelow = [
        "/bin", "/boot", "/etc", "/lib", "/lib32", "/lib64", "/libx32", "/proc", "/run/systemd", "/sbin", "/sys",
        "/usr/bin", "/usr/include", "/usr/lib", "/usr/lib32", "/usr/lib64", "/usr/libexec", "/usr/libx32",
        "/usr/local/bin", "/usr/local/etc", "/usr/local/lib", "/usr/local/sbin", "/usr/sbin", "/usr/share", "/usr/src",
        "/var/lib/systemd", "/var/spool/cron",
    ]

    /// Nil for a folder that is not the system's.
    ///
    /// - Parameter folder: its path; links are followed where it exists.
    public init?(_ folder: String) {
        var path = folder
        if let resolved = unsafe realpath(folder, nil) {
            path = unsafe String(cString: resolved)
            unsafe free(resolved)
        }
        while path.count > 1, path.hasSuffix("/") { path.removeLast() }
        // What a user's shell and service manager run is there.
        let isUsers = ["/home/", "/run/user/"].contains {
            path.hasPrefix($0) && !path.dropFirst($0.count).contains("/")
        }
        guard
            isUsers || Self.alone.contains(path)
                || Self.withAllBelow.contains(where: { path == $0 || path.hasPrefix($0 + "/") })
        else { return nil }
        self.path = path
        var status = stat()
        isForAll = unsafe stat(path, &status) == 0 && status.st_mode & 0o1002 == 0o1002
    }

    /// The folder of a file; nil when that is not the system's.
    public init?(of file: String) {
        guard let slash = file.lastIndex(of: "/") else { return nil }
        self.init(slash == file.startIndex ? "/" : String(file[..<slash]))
    }
}
