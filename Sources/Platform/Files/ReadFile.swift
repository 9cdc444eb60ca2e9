import Glibc

/// Reads at most the first `limit` bytes of a file. To detect a longer file, pass one more than the longest allowed.
///
/// - Parameters:
///   - limit: bytes; bounds the reading of files such as `/dev/zero`.
///   - waits: true reads also a pipe, to its end, however long its writer takes; never where others wait for it.
/// - Throws: the error of open(2) or read(2), such as `ENOENT`, or `EISDIR` for a directory; `ESPIPE` for a pipe.
package func readFile(_ path: String, limit: Int, waits: Bool = false) throws(SystemError) -> [UInt8] {
    let number = unsafe open(path, O_RDONLY | O_CLOEXEC | (waits ? 0 : O_NONBLOCK))
    guard number >= 0 else { throw .last("open \(path)") }
    return try readFile(Descriptor(owning: number), named: path, limit: limit, waits: waits)
}

/// Reads what is open already in the same way.
///
/// - Parameter path: its name in errors.
package func readFile(
    _ descriptor: consuming Descriptor, named path: String, limit: Int, waits: Bool = false
) throws(SystemError) -> [UInt8] {
    var status = stat()
    guard unsafe fstat(descriptor.number, &status) == 0 else { throw .last("stat \(path)") }
    guard waits || status.st_mode & S_IFMT != S_IFIFO else {
        throw SystemError(code: ESPIPE, operation: "read \(path)")
    }
    var content: [UInt8] = []
    // Larger than most files. A short read does not mean the end of the file.
    var chunk = [UInt8](repeating: 0, count: min(limit, 64 << 10))
    while content.count < limit {
        let wanted = min(chunk.count, limit - content.count)
        let count = unsafe chunk.withUnsafeMutableBytes { unsafe read(descriptor.number, $0.baseAddress, wanted) }
        if count < 0, errno == EINTR { continue }
        guard count >= 0 else { throw .last("read \(path)") }
        if count == 0 { break }
        content += chunk[..<count]
    }
    return content
}

/// Reads a text as `readFile` does, without the mark that some editors put before one: U+FEFF in UTF-8.
package func readText(_ path: String, limit: Int) throws(SystemError) -> [UInt8] {
    withoutMark(try readFile(path, limit: limit))
}

/// A text without that mark.
package func withoutMark(_ content: [UInt8]) -> [UInt8] {
    content.starts(with: [0xef, 0xbb, 0xbf]) ? Array(content[3...]) : content
}

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
