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
