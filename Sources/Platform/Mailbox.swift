import Scheduling
import Synchronization

/// A bounded queue by which other threads hand values to the loop, which gets them in batches.
///
/// Posting is one short lock, and one system call only when the loop is not yet about to look. Once its two buffers
/// have grown to the size of the largest batch, it allocates nothing.
package final class Mailbox<Element: Sendable>: Sendable {
    private struct State {
        var elements: [Element] = []
        var refused = 0
    }

    private let state = Mutex(State())
    private let capacity: Int
    private let loop: EventLoop

    /// - Parameter capacity: how many values may wait at once; at least 1.
    package init(capacity: Int, on loop: EventLoop) {
        self.capacity = max(1, capacity)
        self.loop = loop
    }

    /// Hands `element` over. From any thread.
    ///
    /// - Returns: `false` when the mailbox is full; the value is then dropped.
    package func post(_ element: Element) -> Bool {
        let count = state.withLock { state in
            guard state.elements.count < capacity else {
                state.refused += 1
                return 0
            }
            state.elements.append(element)
            return state.elements.count
        }
        if count == 1 { loop.waker.wake() }
        return count > 0
    }

    /// How many values were dropped since this was last asked.
    package func takeRefused() -> Int {
        state.withLock { state in
            let refused = state.refused
            state.refused = 0
            return refused
        }
    }

    /// Names what receives the values, in order of posting, also those posted so far. Once.
    @Loop
    package func receive(_ handler: @escaping @Loop ([Element]) -> Void) {
        var batch: [Element] = []
        loop.afterWake { [self] in
            state.withLock { swap(&$0.elements, &batch) }
            guard !batch.isEmpty else { return }
            handler(batch)
            batch.removeAll(keepingCapacity: true)
        }
    }
}
