import Glibc

/// The output stream of log lines; writes whole lines as long as it accepts them. For one thread.
struct LogStream {
    /// The most bytes written by one system call, in whole lines: a pipe accepts that many at once or none, so that
    /// lines of two processes do not mix (pipe(7), PIPE_BUF).
    private static let chunk = 4_096
    private static let newline = UInt8(ascii: "\n")

    private let descriptor: Int32
    /// Whether the last bytes written are an incomplete line.
    private var isTorn = false

    init(_ descriptor: Int32) { self.descriptor = descriptor }

    /// Writes whole lines, as many at once as a pipe accepts atomically; waits for the reader.
    ///
    /// - Returns: how many lines were not written, because the reader is gone or the disk is full.
    mutating func put(_ lines: [UInt8]) -> Int {
        var rest = lines[...]
        if isTorn {
            guard write([Self.newline]) == 1 else { return Self.count(rest) }
            isTorn = false
        }
        while !rest.isEmpty {
            let head = rest.prefix(Self.chunk)
            let end = head.count < rest.count ? head.lastIndex(of: Self.newline).map { $0 + 1 } : nil
            let part = rest[..<(end ?? head.endIndex)]
            let taken = write(part)
            rest = rest.dropFirst(taken)
            guard taken == part.count else {
                isTorn = rest.startIndex > 0 && lines[rest.startIndex - 1] != Self.newline
                return Self.count(rest)
            }
        }
        return 0
    }

    private static func count(_ lines: ArraySlice<UInt8>) -> Int { lines.count { $0 == newline } }

    /// - Returns: how many bytes were written; fewer than given only when the stream accepts no more.
    private func write(_ bytes: ArraySlice<UInt8>) -> Int {
        var rest = bytes
        while !rest.isEmpty {
            let count = unsafe rest.withUnsafeBytes { unsafe Glibc.write(descriptor, $0.baseAddress, $0.count) }
            if count >= 0 {
                rest = rest.dropFirst(count)
            } else if errno == EAGAIN {
                // Another process that shares the stream has made it non-blocking.
                var entry = pollfd(fd: descriptor, events: Int16(POLLOUT), revents: 0)
                _ = unsafe poll(&entry, 1, -1)
            } else if errno != EINTR {
                break
            }
        }
        return bytes.count - rest.count
    }
}
