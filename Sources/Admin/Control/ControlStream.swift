import CMicrohttpd
import Scheduling

/// A response without an end: server-sent events (HTML Living Standard, section 9.2), one at once and one at each
/// interval. The library holds a reference until the connection has closed.
@Loop
final class ControlStream {
    private nonisolated static let interval: Duration = .seconds(2)
    /// The most bytes that wait for a client: while there are more, events are left out.
    private nonisolated static let limit = 1 << 20

    private let event: @Loop () -> String
    private let connection: OpaquePointer
    private let clock: any LoopClock
    /// Lets the library go on.
    private let run: @Loop () -> Void
    private var waiting: [UInt8] = []
    private var isSuspended = false
    private var isEnded = false
    private var timer: LoopTimer?

    /// - Parameter event: makes the next event, as it is sent.
    init(
        _ event: @escaping @Loop () -> String, to connection: OpaquePointer, clock: any LoopClock,
        run: @escaping @Loop () -> Void
    ) {
        self.event = event
        self.connection = connection
        self.clock = clock
        self.run = run
        waiting = Array(event().utf8)
        setTimer()
    }

    private func setTimer() {
        timer = clock.schedule(after: Self.interval) { [weak self] in self?.tick() }
    }

    private func tick() {
        if waiting.count < Self.limit { waiting += event().utf8 }
        setTimer()
        resume()
        run()
    }

    private func resume() {
        guard isSuspended else { return }
        isSuspended = false
        MHD_resume_connection(connection)
    }

    /// Copies what waits into the library's buffer; with nothing to copy the connection rests until the next event.
    ///
    /// - Returns: the number of bytes; -1 at the end.
    func read(into buffer: UnsafeMutableRawBufferPointer) -> Int {
        guard !waiting.isEmpty else {
            if isEnded { return -1 }
            isSuspended = true
            MHD_suspend_connection(connection)
            return 0
        }
        let count = min(buffer.count, waiting.count)
        buffer.copyBytes(from: waiting.prefix(count))
        waiting.removeFirst(count)
        return count
    }

    /// Ends the response: the server stops, and may not while a connection rests.
    func end() {
        isEnded = true
        close()
        resume()
    }

    /// Makes no more events: the connection has closed, or the response is at its end.
    func close() {
        timer?.cancel()
        timer = nil
    }
}
