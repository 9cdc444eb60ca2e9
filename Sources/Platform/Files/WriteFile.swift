import Glibc

/// Makes a file, and writes it through to the disk.
///
/// - Parameter mode: its permission bits, whatever the umask is.
/// - Throws: `EEXIST` when something is at the path already, a link included. Of a file that cannot be written whole
///   nothing is left.
package func createFile(_ path: String, _ bytes: [UInt8], mode: UInt32) throws(SystemError) {
    let number = open(path, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC | O_NOFOLLOW, mode)
    guard number >= 0 else { throw .last("make \(path)") }
    let file = Descriptor(owning: number)
    do throws(SystemError) {
        guard fchmod(file.number, mode) == 0 else { throw .last("protect \(path)") }
        var written = 0
        while written < bytes.count {
            let count = bytes[written...].withUnsafeBytes { write(file.number, $0.baseAddress, $0.count) }
            if count < 0, errno == EINTR { continue }
            guard count > 0 else { throw .last("write \(path)") }
            written += count
        }
        guard fsync(file.number) == 0 else { throw .last("write \(path)") }
    } catch {
        unlink(path)
        throw error
    }
}

/// Puts a file in the place of another, or of none, in one step: a reader finds the old bytes or the new ones, also after
/// a power cut. Beside it a file that ends in `.new` is made.
///
/// - Parameter mode: its permission bits.
package func replaceFile(_ path: String, _ bytes: [UInt8], mode: UInt32) throws(SystemError) {
    let new = path + ".new"
    // Of an earlier attempt that was cut short.
    unlink(new)
    try createFile(new, bytes, mode: mode)
    guard rename(new, path) == 0 else {
        let error = SystemError.last("write \(path)")
        unlink(new)
        throw error
    }
}
