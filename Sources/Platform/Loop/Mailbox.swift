import Scheduling
import Synchronization

/// A bounded queue by which other threads pass values to the loop, which receives them in batches.
///
/// Posting takes one short lock, and a system call only when the loop is not about to check the queue anyway. Once its
/// two buffers have grown to the size of the largest batch, it allocates nothing.
package final class Mailbox<Element: Sendable>: Sendable {
    private struct State {
        var queue: SharedQueue<Element>
        var refused = 0
    }

    private let state: Mutex<State>
    private let refuses = Atomic<Bool>(false)
    private let divided = Atomic<Bool>(false)
    private let loop: EventLoop

    /// - Parameters:
    ///   - capacity: how many values may wait at once; at least 1.
    ///   - origin: the client network of a value, by which the places are shared and the values taken in turns
    ///     (`SharedQueue`), and since when it waits; nil: not shared.
    package init(
        capacity: Int, on loop: EventLoop, sharedBy origin: (@Sendable (Element) -> SharedQueue<Element>.Origin)? = nil
    ) {
        state = Mutex(State(queue: SharedQueue(capacity: capacity, origin: origin)))
        self.loop = loop
    }

    /// Posts `element`. May be called from any thread.
    ///
    /// - Returns: `false` when the mailbox is full; the value is then dropped.
    package func post(_ element: Element) -> Bool {
        let count = state.withLock { state in
            guard state.queue.append(element) else {
                state.refused += 1
                refuses.store(true, ordering: .relaxed)
                return 0
            }
            divided.store(state.queue.isDivided, ordering: .relaxed)
            return state.queue.count
        }
        if count == 1 { loop.waker.wake() }
        return count > 0
    }

    /// Whether a value was dropped since some were last taken out. May be called from any thread, without the lock.
    package var isRefusing: Bool { refuses.load(ordering: .relaxed) }

    /// Whether so many values wait that the client network of each counts. May be called from any thread, without the lock.
    package var isDivided: Bool { divided.load(ordering: .relaxed) }

    /// How many values were dropped since the last call.
    package func takeRefused() -> Int {
        state.withLock { state in
            let refused = state.refused
            state.refused = 0
            return refused
        }
    }

    /// Sets how long the first value of a client network may have waited before further ones of the network are refused;
    /// nil: for any time. Waiting values stay.
    package func refuse(after patience: Duration?) { state.withLock { $0.queue.patience = patience } }

    /// How many values wait.
    package var count: Int { state.withLock { $0.queue.count } }

    /// Whether nothing waits.
    package var isEmpty: Bool { count == 0 }

    /// Takes out the first `limit` waiting values.
    package func take(_ limit: Int = .max) -> [Element] {
        var values: [Element] = []
        take(limit, into: &values)
        return values
    }

    /// Sets the handler that receives the values, in order of posting unless client networks share the mailbox,
    /// including those posted so far. Called once.
    ///
    /// - Parameter room: how many values may be passed on now, perhaps none; the rest is passed on in later turns.
    ///   Called in each turn.
    @Loop
    package func receive(
        room: @escaping @Loop () -> Int = { .max }, _ handler: @escaping @Loop ([Element]) -> Void
    ) {
        var batch: [Element] = []
        loop.inEachTurn { [self] in
            take(room(), into: &batch)
            guard !batch.isEmpty else { return }
            handler(batch)
            batch.removeAll(keepingCapacity: true)
        } hasMore: { [self] in
            !isEmpty && room() > 0
        }
    }

    /// Moves the first `limit` waiting values into `batch`.
    private func take(_ limit: Int, into batch: inout [Element]) {
        state.withLock { state in
            refuses.store(false, ordering: .relaxed)
            state.queue.take(limit, into: &batch)
            divided.store(state.queue.isDivided, ordering: .relaxed)
        }
    }
}
