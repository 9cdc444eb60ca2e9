public import Glibc

/// Reads at most the first `limit` bytes of a file. To detect a longer file, pass one more than the longest allowed.
///
/// - Parameters:
///   - limit: bytes; bounds the reading of files such as `/dev/zero`.
///   - waits: true reads also a pipe, to its end, however long its writer takes; never where others wait for it.
/// - Throws: the error of open(2) or read(2), such as `ENOENT`, or `EISDIR` for a directory; `ESPIPE` for a pipe.
public func readFile(_ path: String, limit: Int, waits: Bool = false) throws(SystemError) -> [UInt8] {
    let number = unsafe open(path, O_RDONLY | O_CLOEXEC | (waits ? 0 : O_NONBLOCK))
    guard number >= 0 else { throw .last("open \(path)") }
    return try readFile(Descriptor(owning: number), named: path, limit: limit, waits: waits)
}

/// Reads what is open already in the same way.
///
/// - Parameter path: its name in errors.
public func readFile(
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
public func readText(_ path: String, limit: Int) throws(SystemError) -> [UInt8] {
    withoutMark(try readFile(path, limit: limit))
}

/// A text without that mark.
public func withoutMark(_ content: [UInt8]) -> [UInt8] {
    content.starts(with: [0xef, 0xbb, 0xbf]) ? Array(content[3...]) : content
}

/// The most bytes of a file of certificates: some hundred authorities.
public let longestCertificateFile = 1 << 20

/// What is wrong with a file of authorities (PEM), as the rest of a sentence that begins with it; nil: nothing is seen.
public func authoritiesProblem(_ path: String) -> String? {
    do throws(SystemError) {
        let content = try readFile(path, limit: longestCertificateFile + 1)
        if content.count > longestCertificateFile { return "is larger than 1 MiB" }
        // Of any of the three kinds that OpenSSL takes.
        return String(decoding: content, as: UTF8.self).contains("CERTIFICATE-----") ? nil : "holds no certificate"
    } catch {
        return "cannot be read: \(error.reason)"
    }
}

/// What every user of the machine may do with a file, by the modes of the file and of the folders on the way to it.
public struct PublicAccess: Equatable, Sendable {
    /// Read it.
    public let reads: Bool
    /// Change it, or put another one in its place.
    public let writes: Bool

    /// Where container engines mount secrets, readable by all: no other user is there.
    private static let mounts = ["/run/secrets/"]

    /// Nil when there is no such file.
    ///
    /// - Parameter path: links are followed.
    public init?(of path: String) {
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

/// Makes a file, and writes it through to the disk.
///
/// - Parameter mode: its permission bits, whatever the umask is.
/// - Throws: `EEXIST` when something is at the path already, a link included. Of a file that cannot be written whole
///   nothing is left.
public func createFile(_ path: String, _ bytes: [UInt8], mode: UInt32) throws(SystemError) {
    let number = unsafe open(path, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC | O_NOFOLLOW, mode)
    guard number >= 0 else { throw .last("make \(path)") }
    let file = Descriptor(owning: number)
    do throws(SystemError) {
        try writeThrough(bytes, to: file, path, mode: mode)
    } catch {
        unsafe unlink(path)
        throw error
    }
}

/// Writes a file that was made just now through to the disk, and gives it the mode that `umask` has taken from it.
///
/// - Parameter path: its name in errors.
public func writeThrough(
    _ bytes: [UInt8], to file: borrowing Descriptor, _ path: String, mode: UInt32
) throws(SystemError) {
    var status = stat()
    // In the sandbox no mode can be changed.
    guard unsafe fstat(file.number, &status) == 0, status.st_mode & 0o7777 == mode || fchmod(file.number, mode) == 0
    else { throw .last("protect \(path)") }
    try writeAll(bytes, to: file, path)
    guard fsync(file.number) == 0 else { throw .last("write \(path)") }
}

/// Puts a file in the place of another, or of none, in one step: a reader finds the old bytes or the new ones, also after
/// a power cut. Beside it a file that ends in `.new` is made.
public func replaceFile(_ path: String, _ bytes: [UInt8], mode: UInt32) throws(SystemError) {
    let new = path + ".new"
    // Of an earlier attempt that was cut short.
    unsafe unlink(new)
    try replaceFile(path, bytes, mode: mode, by: new)
}

/// Writes what an operator has asked for to where they said. A file, also one behind a link, is replaced in one step; a
/// pipe or a device receives the bytes, and stays what it is.
public func writeOutput(_ path: String, _ bytes: [UInt8], mode: UInt32) throws(SystemError) {
    var (named, status) = (stat(), stat())
    guard unsafe lstat(path, &named) == 0 else {
        return try replaceFile(path, bytes, mode: mode, by: unusedName(beside: path))
    }
    guard unsafe stat(path, &status) == 0 else { throw .last("write \(path)") }
    guard status.st_mode & S_IFMT == S_IFREG else {
        let number = unsafe open(path, O_WRONLY | O_CLOEXEC | O_NOCTTY)
        guard number >= 0 else { throw .last("write \(path)") }
        return try writeAll(bytes, to: Descriptor(owning: number), path)
    }
    guard let resolved = unsafe realpath(path, nil) else { throw .last("write \(path)") }
    defer { unsafe free(resolved) }
    let file = unsafe String(cString: resolved)
    try replaceFile(file, bytes, mode: mode, by: unusedName(beside: file))
}

/// A name that no other program chooses.
private func unusedName(beside path: String) -> String {
    "\(path).\(String(UInt64.random(in: .min ... .max), radix: 36)).new"
}

private func replaceFile(
    _ path: String, _ bytes: [UInt8], mode: UInt32, by new: String
) throws(SystemError) {
    try createFile(new, bytes, mode: mode)
    guard unsafe rename(new, path) == 0 else {
        let error = SystemError.last("write \(path)")
        unsafe unlink(new)
        throw error
    }
}

private func writeAll(_ bytes: [UInt8], to file: borrowing Descriptor, _ path: String) throws(SystemError) {
    var written = 0
    while written < bytes.count {
        let count = unsafe bytes[written...].withUnsafeBytes { unsafe write(file.number, $0.baseAddress, $0.count) }
        if count < 0, errno == EINTR { continue }
        guard count > 0 else { throw .last("write \(path)") }
        written += count
    }
}

/// Makes the folder of a file if only it is missing.
///
/// - Parameters:
///   - account: the user and the group that will own it; nil: the current ones. Others need root.
///   - mode: its permission bits, as far as `umask` leaves them.
public func makeFolder(
    of path: String, for account: (user: uid_t, group: gid_t)?, mode: UInt32
) throws(SystemError) {
    guard let slash = path.utf8.lastIndex(of: UInt8(ascii: "/")), slash != path.startIndex else { return }
    let folder = String(path[..<slash])
    guard unsafe mkdir(folder, mode) == 0 else {
        if unsafe access(folder, F_OK) == 0 { return }
        throw .last("make folder \(folder)")
    }
    // Else the file could not be removed once root is dropped.
    if let account, unsafe lchown(folder, account.user, account.group) != 0 {
        throw .last("give folder \(folder) away")
    }
}
