import Glibc

/// What every user of the machine may do with a file, by the modes of the file and of the folders on the way to it.
package struct PublicAccess: Equatable, Sendable {
    /// Read it.
    package let reads: Bool
    /// Change it, or put another one in its place.
    package let writes: Bool

    /// Where container engines mount secrets, readable by all: no other user is there.
    private static let mounts = ["/run/secrets/"]

    /// Nil when there is no such file.
    ///
    /// - Parameter path: links are followed.
    package init?(of path: String) {
        guard let resolved = unsafe realpath(path, nil) else { return nil }
        defer { unsafe free(resolved) }
        let file = unsafe String(cString: resolved)
        guard let mode = Self.mode(of: file) else { return nil }
        var (isReached, isReplaced) = (true, false)
        for slash in file.indices where file[slash] == "/" && isReached {
            let folder = Self.mode(of: slash == file.startIndex ? "/" : String(file[..<slash])) ?? 0
            isReached = folder & S_IXOTH != 0
            // In a sticky one no user replaces the files of others.
            isReplaced = isReplaced || (isReached && folder & S_IWOTH != 0 && folder & S_ISVTX == 0)
        }
        reads = isReached && mode & S_IROTH != 0 && !Self.mounts.contains { file.hasPrefix($0) }
        writes = isReplaced || (isReached && mode & S_IWOTH != 0)
    }

    private static func mode(of path: String) -> mode_t? {
        var status = stat()
        return unsafe stat(path, &status) == 0 ? status.st_mode : nil
    }
}
