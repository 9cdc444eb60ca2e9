import DNSWire
public import Glibc
public import Logging
import Synchronization

/// The log of the process, on standard error. A reload may change its level and its style.
public final class LogOutput: Sendable {
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
    public init(
        _ style: LogStyle, level: Logger.Level, journalStream: String?, to descriptor: Int32 = STDERR_FILENO
    ) throws(SystemError) {
        let formatter = LogFormatter(style, isJournal: isJournal(descriptor, journalStream))
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
    public var level: Logger.Level { Logger.Level.allCases[threshold.load(ordering: .relaxed)] }

    public func set(_ style: LogStyle, level: Logger.Level) {
        formatter.set(style)
        threshold.store(level.index, ordering: .relaxed)
    }

    /// A logger that writes here.
    public var logger: Logger { Logger(label: "httpdnsd") { _ in OutputLogHandler(output: self) } }

    /// Writes a line at any level; for output that has its own option, such as the query log.
    public func write(_ kind: LogKind, _ text: String, _ fields: Logger.Metadata) {
        write(kind.level, text, kind.fields(fields))
    }

    fileprivate func write(_ level: Logger.Level, _ text: String, _ fields: Logger.Metadata) {
        writer.write(formatter.line(level, text, fields))
    }

    /// Lets the thread that writes do `errand` before the next line, such as giving up rights. Does not wait for it.
    public func performOnThread(_ errand: @escaping @Sendable () -> Void) { writer.perform(errand) }

    /// Waits until everything is written, `limit` at most. Blocks its thread: for start and exit.
    public func flush(within limit: Duration) { writer.flush(within: limit) }

    /// Like `flush`, and ends the thread. Messages logged afterwards are lost.
    public func finish(within limit: Duration) { writer.finish(within: limit) }
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

/// Whether systemd's journal reads a stream.
///
/// - Parameter variable: the value of `JOURNAL_STREAM`: device and inode of the stream that systemd has connected to the
///   journal (systemd.exec(5)). Where standard error has been redirected since, they do not match.
func isJournal(_ descriptor: Int32, _ variable: String?) -> Bool {
    guard let parts = variable?.split(separator: ":", omittingEmptySubsequences: false), parts.count == 2,
        let device = UInt64(parts[0]), let inode = UInt64(parts[1])
    else { return false }
    var status = stat()
    return unsafe fstat(descriptor, &status) == 0 && UInt64(status.st_dev) == device
        && UInt64(status.st_ino) == inode
}

/// Writes lines to standard error from its own thread, so that no other thread waits for the reader of the stream.
///
/// A full pipe, a stopped terminal or a slow disk block that thread only. `O_NONBLOCK` is not set, since standard error
/// is often shared with other processes, which it would affect too. Lines that do not fit into the queue meanwhile are
/// dropped and counted, as are lines that the stream refuses, for instance on a full disk.
final class LogWriter: Sendable {
    /// Capacity in bytes up to which storage is retained for the next lines.
    private static let retained = 64 << 10

    private struct State {
        var lines: [UInt8] = []
        var dropped = 0
        /// Whether the thread has taken lines that it has not written yet.
        var isWriting = false
        var isEnding = false
        /// What the thread does before it writes again.
        var errand: (@Sendable () -> Void)?
    }

    private let state = Mutex(State())
    private let capacity: Int
    private let descriptor: Int32
    private let work: EventCounter
    private let rest: EventCounter
    /// Returns the line that reports how many lines were dropped.
    private let droppedLine: @Sendable (Int) -> [UInt8]

    /// Starts the thread, which ends after `finish`.
    ///
    /// - Parameters:
    ///   - descriptor: stays open as long as the thread runs.
    ///   - capacity: the most bytes that wait.
    /// - Throws: when the limit of threads or descriptors is reached.
    init(
        to descriptor: Int32, capacity: Int = 512 << 10, droppedLine: @escaping @Sendable (Int) -> [UInt8]
    ) throws(SystemError) {
        self.descriptor = descriptor
        self.capacity = capacity
        self.droppedLine = droppedLine
        work = try EventCounter()
        rest = try EventCounter()
        _ = try NamedThread("log") { [self] in run() }
    }

    /// Queues a line. May be called from any thread; never waits for the reader.
    func write(_ line: [UInt8]) {
        let wasIdle = state.withLock { state in
            let wasIdle = state.lines.isEmpty && state.dropped == 0 && !state.isWriting
            if state.lines.count + line.count <= capacity { state.lines += line } else { state.dropped += 1 }
            return wasIdle
        }
        if wasIdle { work.post() }
    }

    /// Lets the thread do `errand` before it writes the next line; an earlier one must be done. Does not wait for it.
    func perform(_ errand: @escaping @Sendable () -> Void) {
        state.withLock { $0.errand = errand }
        work.post()
    }

    /// Waits until all lines queued so far are written. Blocks its thread.
    ///
    /// - Parameter limit: the longest wait; the reader may be gone for ever.
    /// - Returns: whether all are written.
    @discardableResult
    func flush(within limit: Duration) -> Bool {
        let clock = ContinuousClock()
        let deadline = clock.now + limit
        while true {
            let isDone = state.withLock { $0.lines.isEmpty && $0.dropped == 0 && !$0.isWriting }
            let left = deadline - clock.now
            guard !isDone, left > .zero else { return isDone }
            rest.wait(atMost: left)
        }
    }

    /// Like `flush`, and lets the thread end once it has nothing left to write.
    func finish(within limit: Duration) {
        state.withLock { $0.isEnding = true }
        work.post()
        flush(within: limit)
    }

    // MARK: On the thread

    private func run() {
        var stream = LogStream(descriptor)
        var lines: [UInt8] = []
        /// Lines that the stream did not accept, and that are not yet reported as dropped.
        var lost = 0
        while true {
            let (dropped, isEnding, errand) = state.withLock { state in
                swap(&state.lines, &lines)
                let dropped = state.dropped
                state.dropped = 0
                state.isWriting = !lines.isEmpty || dropped > 0
                return (dropped, state.isEnding, state.errand.take())
            }
            errand?()
            if lines.isEmpty, dropped == 0 {
                rest.post()
                if isEnding { return }
                work.wait()
                continue
            }
            lost += dropped + stream.put(lines)
            if lost > 0, stream.put(droppedLine(lost)) == 0 { lost = 0 }
            lines.removeAll(keepingCapacity: lines.capacity <= Self.retained)
        }
    }
}

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
