import CMicrohttpd
import Glibc
import Scheduling

/// A response whose end is not known: a part at once and one at each interval, unless the client has yet to read the one before.
/// The library holds a reference until the connection has closed.
@Loop
@safe final class ControlStream {
    private let parts: ControlParts
    private let connection: OpaquePointer
    private let clock: any LoopClock
    /// Lets the library go on.
    private let run: @Loop () -> Void
    private var waiting: [UInt8] = []
    private var isSuspended = false
    private var isEnded = false
    private var timer: LoopTimer?

    init(
        _ parts: ControlParts, to connection: OpaquePointer, clock: any LoopClock, run: @escaping @Loop () -> Void
    ) {
        self.parts = parts
        unsafe self.connection = unsafe connection
        self.clock = clock
        self.run = run
        waiting = Array((parts.next() ?? "").utf8)
        setTimer()
    }

    private func setTimer() {
        timer = clock.schedule(after: parts.interval) { [weak self] in self?.tick() }
    }

    private func tick() {
        if isSuspended, hasHungUp {
            end()
            return run()
        }
        setTimer()
        guard waiting.isEmpty else { return }
        guard let part = parts.next() else {
            end()
            return run()
        }
        waiting = Array(part.utf8)
        guard !waiting.isEmpty else { return }
        resume()
        run()
    }

    /// Whether the client has closed its socket, which the library does not notice while the connection rests.
    private var hasHungUp: Bool {
        var socket = unsafe pollfd(fd: cmicrohttpd_socket(connection), events: 0, revents: 0)
        return unsafe poll(&socket, 1, 0) > 0
    }

    private func resume() {
        guard isSuspended else { return }
        isSuspended = false
        unsafe MHD_resume_connection(connection)
    }

    /// Copies what waits into the library's buffer; with nothing to copy the connection rests until the next part.
    ///
    /// - Returns: the number of bytes; -1 at the end.
    func read(into buffer: UnsafeMutableRawBufferPointer) -> Int {
        guard !waiting.isEmpty else {
            if isEnded { return -1 }
            isSuspended = true
            unsafe MHD_suspend_connection(connection)
            return 0
        }
        let count = min(buffer.count, waiting.count)
        unsafe buffer.copyBytes(from: waiting.prefix(count))
        waiting.removeFirst(count)
        parts.wasRead()
        return count
    }

    /// Ends the response: there are no more parts, the client has gone, or the server stops, and may not while a connection
    /// rests.
    func end() {
        isEnded = true
        close()
        resume()
    }

    /// Makes no more parts: the connection has closed, or the response is at its end.
    func close() {
        timer?.cancel()
        timer = nil
    }
}
