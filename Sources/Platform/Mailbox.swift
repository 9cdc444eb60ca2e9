import Scheduling
import Synchronization

/// A bounded queue by which other threads hand values to the loop, which gets them in batches.
///
/// Posting is one short lock, and one system call only when the loop is not yet about to look. Once its two buffers
/// have grown to the size of the largest batch, it allocates nothing.
package final class Mailbox<Element: Sendable>: Sendable {
    private let elements = Mutex<[Element]>([])
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
        let count = elements.withLock { elements in
            guard elements.count < capacity else { return 0 }
            elements.append(element)
            return elements.count
        }
        if count == 1 { loop.waker.wake() }
        return count > 0
    }

    /// Names what receives the values, in order of posting, also those posted so far. Once.
    @Loop
    package func receive(_ handler: @escaping @Loop ([Element]) -> Void) {
        var batch: [Element] = []
        loop.afterWake { [self] in
            elements.withLock { swap(&$0, &batch) }
            guard !batch.isEmpty else { return }
            handler(batch)
            batch.removeAll(keepingCapacity: true)
        }
    }
}
