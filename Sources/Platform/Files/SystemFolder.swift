import Glibc

/// A folder that belongs to the system, where other programs find their files: what may write there may change them.
package struct SystemFolder: Sendable {
    /// Through all links.
    package let path: String
    /// Whether every user may make files there, and remove their own alone, as in `/tmp`.
    package let isForAll: Bool

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
    package init?(_ folder: String) {
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
    package init?(of file: String) {
        guard let slash = file.lastIndex(of: "/") else { return nil }
        self.init(slash == file.startIndex ? "/" : String(file[..<slash]))
    }
}
