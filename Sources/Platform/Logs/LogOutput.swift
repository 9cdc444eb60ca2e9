import Glibc
package import Logging
import Synchronization

/// The log of the process, on standard error. A reload may change its level and its style.
package final class LogOutput: Sendable {
    private let writer: LogWriter
    private let formatter: LogFormatter
    /// The index of the level among all of them.
    private let threshold: Atomic<Int>

    /// Starts the thread that writes.
    ///
    /// - Parameters:
    ///   - journalStream: the value of the environment variable `JOURNAL_STREAM`.
    ///   - descriptor: stays open for ever.
    /// - Throws: when the limit of threads or descriptors is reached.
    package init(
        _ style: LogStyle, level: Logger.Level, journalStream: String?, to descriptor: Int32 = STDERR_FILENO
    ) throws(SystemError) {
        let formatter = LogFormatter(style, isJournal: JournalStream.reads(descriptor, journalStream))
        self.formatter = formatter
        threshold = Atomic(level.index)
        writer = try LogWriter(to: descriptor) { count in
            let kind = LogKind.logDropped
            return formatter.line(
                kind.level, "\(count) log lines were dropped: not read in time, or the disk was full",
                kind.fields([LogFormatter.suppressedField: .stringConvertible(count)]))
        }
    }

    /// The least severe level that is logged, for every logger made here.
    package var level: Logger.Level { Logger.Level.allCases[threshold.load(ordering: .relaxed)] }

    package func set(_ style: LogStyle, level: Logger.Level) {
        formatter.set(style)
        threshold.store(level.index, ordering: .relaxed)
    }

    /// A logger that writes here.
    package var logger: Logger { Logger(label: "httpdnsd") { _ in OutputLogHandler(output: self) } }

    /// Writes a line at any level; for output that has its own option, such as the query log.
    package func write(_ kind: LogKind, _ text: String, _ fields: Logger.Metadata) {
        write(kind.level, text, kind.fields(fields))
    }

    fileprivate func write(_ level: Logger.Level, _ text: String, _ fields: Logger.Metadata) {
        writer.write(formatter.line(level, text, fields))
    }

    /// Lets the thread that writes do `errand` before the next line, such as giving up rights. Does not wait for it.
    package func performOnThread(_ errand: @escaping @Sendable () -> Void) { writer.perform(errand) }

    /// Waits until everything is written, `limit` at most. Blocks its thread: for start and exit.
    package func flush(within limit: Duration) { writer.flush(within: limit) }

    /// Like `flush`, and ends the thread. Messages logged afterwards are lost.
    package func finish(within limit: Duration) { writer.finish(within: limit) }
}

extension Logger.Level {
    fileprivate var index: Int { Self.allCases.firstIndex(of: self) ?? 0 }
}

/// Passes swift-log's messages to the output.
private struct OutputLogHandler: LogHandler {
    let output: LogOutput
    var metadata: Logger.Metadata = [:]

    /// The output's level; a logger cannot have its own.
    var logLevel: Logger.Level {
        get { output.level }
        set {}
    }

    subscript(metadataKey key: String) -> Logger.Metadata.Value? {
        get { metadata[key] }
        set { metadata[key] = newValue }
    }

    func log(event: LogEvent) {
        output.write(event.level, "\(event.message)", metadata.merging(event.metadata ?? [:]) { $1 })
    }
}

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
