package import DNSWire
import Scheduling
import Synchronization

/// A bounded queue by which other threads hand values to the loop, which gets them in batches.
///
/// Posting is one short lock, and one system call only when the loop is not yet about to look. Once its two buffers
/// have grown to the size of the largest batch, it allocates nothing.
package final class Mailbox<Element: Sendable>: Sendable {
    private struct State {
        var queue: SharedQueue<Element>
        var refused = 0
    }

    private let state: Mutex<State>
    private let refuses = Atomic<Bool>(false)
    private let loop: EventLoop

    /// - Parameters:
    ///   - capacity: how many values may wait at once; at least 1.
    ///   - network: by which client networks the places are shared, and the values taken by turns (`SharedQueue`); nil: not.
    package init(
        capacity: Int, on loop: EventLoop, sharedBy network: (@Sendable (Element) -> ClientNetwork)? = nil
    ) {
        state = Mutex(State(queue: SharedQueue(capacity: capacity, network: network)))
        self.loop = loop
    }

    /// Hands `element` over. From any thread.
    ///
    /// - Returns: `false` when the mailbox is full; the value is then dropped.
    package func post(_ element: Element) -> Bool {
        let count = state.withLock { state in
            guard state.queue.append(element) else {
                state.refused += 1
                refuses.store(true, ordering: .relaxed)
                return 0
            }
            return state.queue.count
        }
        if count == 1 { loop.waker.wake() }
        return count > 0
    }

    /// Whether a value was dropped since some were last taken out. From any thread, without the lock.
    package var isRefusing: Bool { refuses.load(ordering: .relaxed) }

    /// How many values were dropped since this was last asked.
    package func takeRefused() -> Int {
        state.withLock { state in
            let refused = state.refused
            state.refused = 0
            return refused
        }
    }

    /// Changes how many values may wait at once; what waits already stays.
    package func limit(to capacity: Int) { state.withLock { $0.queue.capacity = capacity } }

    /// Whether nothing waits.
    package var isEmpty: Bool { state.withLock { $0.queue.count == 0 } }

    /// Names what receives the values, in order of posting unless client networks share it, also those posted so far. Once.
    ///
    /// - Parameter room: how many values may be handed over now, perhaps none; what that leaves comes in later turns. Asked
    ///   in each turn. nil: all at once, when they are posted.
    @Loop
    package func receive(room: (@Loop () -> Int)? = nil, _ handler: @escaping @Loop ([Element]) -> Void) {
        var batch: [Element] = []
        func deliver(_ limit: Int) {
            take(limit, into: &batch)
            guard !batch.isEmpty else { return }
            handler(batch)
            batch.removeAll(keepingCapacity: true)
        }
        guard let room else { return loop.afterWake { deliver(.max) } }
        loop.inEachTurn {
            deliver(room())
        } hasMore: { [self] in
            !isEmpty && room() > 0
        }
    }

    /// Takes what waits, the first `limit` values, into `batch`.
    private func take(_ limit: Int, into batch: inout [Element]) {
        state.withLock { state in
            refuses.store(false, ordering: .relaxed)
            state.queue.take(limit, into: &batch)
        }
    }
}
