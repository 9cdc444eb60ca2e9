/// How it stands with the disk.
package struct DiskStatus: Equatable, Sendable {
    package enum State: String, Sendable {
        case opening
        /// The answers of the last time are being read.
        case loading
        case used
        /// Nothing is read or written now.
        case memoryOnly = "memory only"
    }

    package var state = State.opening
    /// Why it is not used; empty when it is.
    package var reason = ""
    /// Answers that came from the file: at start, and because somebody asked for them.
    package var loaded = 0
    package var recalled = 0
    /// Answers written.
    package var written = 0
}
