package import DNSWire
package import Platform

/// Collects what callbacks on the loop report, and lets a test wait for it.
@Loop
package final class Inbox<Element: Sendable>: Sendable {
    package private(set) var elements: [Element] = []
    private var waiter: (count: Int, continuation: CheckedContinuation<Void, Never>)?

    package nonisolated init() {}

    package func add(_ element: Element) {
        elements.append(element)
        guard let waiter, elements.count >= waiter.count else { return }
        self.waiter = nil
        waiter.continuation.resume()
    }

    /// Returns once there are `count` elements in all.
    package func wait(for count: Int) async -> [Element] {
        await withCheckedContinuation { continuation in
            // Counted here, since other work may have run in between: a test's own task does not prefer our executor.
            if elements.count >= count { return continuation.resume() }
            waiter = (count, continuation)
        }
        return elements
    }
}

extension EventLoop {
    /// Returns after the loop has polled its descriptors once more, and delivered all that were ready before.
    package func nextTurn() async { await sleep(until: now) }
}
