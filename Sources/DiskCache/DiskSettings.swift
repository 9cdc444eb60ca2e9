/// The settings of the disk cache.
package struct DiskSettings: Sendable {
    /// The path of the file; its folder is created if only that is missing.
    package var path: String
    /// How long a change may wait before it is written, and so what a crash loses. Default 1 s.
    package var flushInterval: Duration
    /// The most bytes of answers in the file; beyond, the oldest are removed. Default 128 MiB.
    package var limit: Int
    /// The first and the longest delay before a file that cannot be used is tried again. Default 1 s to 1 min.
    package var retry: ClosedRange<Duration>
    /// The name of a registered VFS of SQLite; nil: its default.
    package var system: String?

    /// The least limit in bytes: some pages, and the write-ahead log beside them.
    package static let smallestLimit = 1 << 20

    package init(
        path: String, flushInterval: Duration = .seconds(1), limit: Int = 128 << 20,
        retry: ClosedRange<Duration> = .seconds(1) ... .seconds(60), system: String? = nil
    ) {
        self.path = path
        self.flushInterval = flushInterval
        self.limit = max(limit, Self.smallestLimit)
        self.retry = retry
        self.system = system
    }
}

/// An event of the disk cache that is reported to the operator.
package enum DiskEvent: Equatable, Sendable {
    /// The file cannot be used; answers are cached in memory only from now on.
    case unavailable(reason: String)
    /// The file is used again.
    case back
    /// The file was damaged or invalid, and a new one was started.
    ///
    /// - Parameter path: its new path; nil when it could not be renamed.
    case quarantined(path: String?, reason: String)
    /// The answers of the previous run are in memory.
    ///
    /// - Parameter isComplete: false when memory has no room for all: the others are read when they are queried.
    case loaded(count: Int, isComplete: Bool)
}

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
    /// Answers read from the file, at the start and for queries.
    package var loaded = 0
    /// Answers written.
    package var written = 0

    /// Whether more answers are to be loaded, and so many are not yet.
    func isBehind(_ count: Int) -> Bool { [.opening, .loading].contains(state) && loaded < count }
}
