import Glibc

/// Standard input, output and error of the process.
package enum StandardStreams {
    /// Opens `/dev/null` in place of those that are closed at the start.
    ///
    /// Otherwise the next descriptors opened would get their numbers, and messages would be written to sockets. Called
    /// before anything else is opened.
    package static func open() {
        for number in STDIN_FILENO...STDERR_FILENO where fcntl(number, F_GETFD) < 0 && errno == EBADF {
            // open(2) takes the lowest free number, which is this one.
            _ = unsafe Glibc.open("/dev/null", O_RDWR)
        }
    }
}
