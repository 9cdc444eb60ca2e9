import Glibc

/// Detects whether systemd's journal reads a stream.
enum JournalStream {
    /// - Parameters:
    ///   - descriptor: the stream.
    ///   - variable: the value of `JOURNAL_STREAM`: device and inode of the stream that systemd has connected to the
    ///     journal (systemd.exec(5)). Where standard error has been redirected since, they do not match.
    static func reads(_ descriptor: Int32, _ variable: String?) -> Bool {
        guard let parts = variable?.split(separator: ":", omittingEmptySubsequences: false), parts.count == 2,
            let device = UInt64(parts[0]), let inode = UInt64(parts[1])
        else { return false }
        var status = stat()
        return unsafe fstat(descriptor, &status) == 0 && UInt64(status.st_dev) == device
            && UInt64(status.st_ino) == inode
    }
}
