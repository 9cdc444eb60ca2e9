import DNSWire
import Dispatch

/// Blocks the loop, so that a test can observe the server while the loop is behind.
final class LoopGate: Sendable {
    private let opened = DispatchSemaphore(value: 0)

    /// Blocks the loop's thread until `open()`; returns once it is blocked.
    func close() {
        let closed = DispatchSemaphore(value: 0)
        Loop.spawn { [self] in block(closed) }
        closed.wait()
    }

    /// The semaphores may not be waited for by a task itself.
    private func block(_ closed: DispatchSemaphore) {
        closed.signal()
        opened.wait()
    }

    func open() { opened.signal() }
}
