import Platform
import Scheduling
import Synchronization

/// Writes lines to standard error from a thread of its own, so that nobody else ever waits for whoever reads them.
///
/// A pipe that is full, a terminal that was stopped or a slow disk block that thread alone. Standard error is often
/// shared with other processes, and `O_NONBLOCK` would be theirs too. What does not fit into the queue meanwhile is
/// dropped and counted, and so is what the stream refuses, as on a full disk.
final class LogWriter: Sendable {
    /// Storage up to this many bytes is kept for the next lines.
    private static let kept = 64 << 10

    private struct State {
        var lines: [UInt8] = []
        var dropped = 0
        /// Whether the thread has taken lines that it has not written yet.
        var isWriting = false
        var isEnding = false
    }

    private let state = Mutex(State())
    private let capacity: Int
    private let descriptor: Int32
    private let work: EventCounter
    private let rest: EventCounter
    /// The line that says how many were dropped.
    private let droppedLine: @Sendable (Int) -> [UInt8]

    /// Starts the thread; it ends with `finish`.
    ///
    /// - Parameters:
    ///   - descriptor: stays open as long as the thread runs.
    ///   - capacity: bytes that wait at most.
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

    /// Takes a line. From any thread; never waits for the reader.
    func write(_ line: [UInt8]) {
        let wasIdle = state.withLock { state in
            let wasIdle = state.lines.isEmpty && state.dropped == 0 && !state.isWriting
            if state.lines.count + line.count <= capacity { state.lines += line } else { state.dropped += 1 }
            return wasIdle
        }
        if wasIdle { work.post() }
    }

    /// Waits until everything taken so far is written. Blocks its thread.
    ///
    /// - Parameter limit: how long at most: the reader may be gone for ever.
    /// - Returns: whether everything is.
    @discardableResult
    func flush(within limit: Duration) -> Bool {
        let clock = ContinuousClock()
        let deadline = clock.now + limit
        while true {
            let isDone = state.withLock { $0.lines.isEmpty && $0.dropped == 0 && !$0.isWriting }
            let left = deadline - clock.now
            guard !isDone, left > .zero else { return isDone }
            rest.wait(atMost: Int32(clamping: left.nanoseconds / 1_000_000 + 1))
        }
    }

    /// The same, and the thread ends once it has nothing left to write.
    func finish(within limit: Duration) {
        state.withLock { $0.isEnding = true }
        work.post()
        flush(within: limit)
    }

    // MARK: On the thread

    private func run() {
        var stream = LogStream(descriptor)
        var lines: [UInt8] = []
        /// Lines that the stream has not taken, and of which nobody has been told yet.
        var lost = 0
        while true {
            let (dropped, isEnding) = state.withLock { state in
                swap(&state.lines, &lines)
                let dropped = state.dropped
                state.dropped = 0
                state.isWriting = !lines.isEmpty || dropped > 0
                return (dropped, state.isEnding)
            }
            if lines.isEmpty, dropped == 0 {
                rest.post()
                if isEnding { return }
                work.wait()
                continue
            }
            lost += dropped + stream.put(lines)
            if lost > 0, stream.put(droppedLine(lost)) == 0 { lost = 0 }
            lines.removeAll(keepingCapacity: lines.capacity <= Self.kept)
        }
    }
}
