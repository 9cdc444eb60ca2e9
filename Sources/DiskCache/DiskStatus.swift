/// The status of the disk cache.
package struct DiskStatus: Equatable, Sendable {
    package enum State: String, Sendable {
        case opening
        /// The answers of the previous run are being read.
        case loading
        case used
        /// Nothing is read or written now.
        case memoryOnly = "memory only"
    }

    package var state = State.opening
    /// The reason why it is not used; empty when it is.
    package var reason = ""
    /// Answers read from the file: `loaded` at start, `recalled` for a query.
    package var loaded = 0
    package var recalled = 0
    /// Answers written.
    package var written = 0

    /// Whether more answers are to be loaded, and so many are not yet.
    func isBehind(_ count: Int) -> Bool { [.opening, .loading].contains(state) && loaded < count }
}
