/// How the disk is used.
package struct DiskSettings: Sendable {
    /// The file; its folder is made if only that is missing.
    package var path: String
    /// How long a change may wait before it is written: what a crash loses. Default 1 s.
    package var flushInterval: Duration
    /// Bytes that answers may take in the file; beyond, the oldest go.
    package var limit: Int
    /// How soon, and how often at last, a file that cannot be used is tried again. Default 1 s to 1 min.
    package var retry: ClosedRange<Duration>
    /// The name of a registered VFS of SQLite; nil: its default.
    package var system: String?

    /// Bytes below which no limit makes sense: a few pages, and the log of changes beside them.
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
