import Glibc

/// Standard input, output and error of the process.
package enum StandardStreams {
    /// Opens `/dev/null` in place of those that whoever started the process has closed.
    ///
    /// Otherwise the next descriptors opened would have their numbers, and messages would go into sockets. To be called
    /// before anything is opened.
    package static func open() {
        for number in STDIN_FILENO...STDERR_FILENO where fcntl(number, F_GETFD) < 0 && errno == EBADF {
            // The lowest free number is taken, which is this one.
            _ = Glibc.open("/dev/null", O_RDWR)
        }
    }
}
