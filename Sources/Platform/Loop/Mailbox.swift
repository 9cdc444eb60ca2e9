import CSystem.Linux
import Glibc
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

/// An event counter that wakes a waiting thread; a post while no thread waits is not lost.
package struct EventCounter: ~Copyable, Sendable {
    fileprivate let descriptor: Descriptor

    /// - Throws: when the limit of descriptors is reached.
    package init() throws(SystemError) {
        descriptor = Descriptor(owning: try checked(clinux_eventfd_create(), "create eventfd"))
    }

    /// Increments the counter. May be called from any thread; never waits.
    package func post() { _ = clinux_eventfd_post(descriptor.number) }

    /// Waits until the counter was incremented since the last call, or a signal arrived. Blocks its thread.
    ///
    /// - Parameter limit: the longest wait in milliseconds; nil: unlimited.
    package func wait(atMost limit: Int32? = nil) {
        var entry = pollfd(fd: descriptor.number, events: Int16(POLLIN), revents: 0)
        guard unsafe poll(&entry, 1, limit ?? -1) > 0 else { return }
        var count: UInt64 = 0
        _ = unsafe read(descriptor.number, &count, MemoryLayout<UInt64>.size)
    }
}

/// The part of the event loop for other threads: they can wake it, stop it, and check whether they are its thread.
package final class LoopWaker: LoopThread {
    private let event: EventCounter
    /// `pthread_self` of the running thread; 0 before it runs.
    private let thread = Atomic<UInt>(0)
    private let stopping = Atomic<Bool>(false)
    /// The thread of the process's one loop; 0 before it runs.
    private static let loopThread = Atomic<UInt>(0)

    init() throws(SystemError) {
        event = try EventCounter()
    }

    /// The counter that becomes readable at a wake-up; watched edge-triggered, so it is never read.
    var descriptor: Int32 { event.descriptor.number }

    package func wake() { event.post() }

    package func isCurrent() -> Bool { thread.load(ordering: .relaxed) == currentThread() }

    /// Makes the calling thread the loop's.
    func adoptCurrentThread() {
        thread.store(currentThread(), ordering: .relaxed)
        Self.loopThread.store(currentThread(), ordering: .relaxed)
    }

    /// Whether the caller runs on the thread of a running loop: the fast check, for callbacks.
    static var isOnLoopThread: Bool { loopThread.load(ordering: .relaxed) == currentThread() }

    var isStopping: Bool { stopping.load(ordering: .acquiring) }

    /// Ends `EventLoop.run()` after the current turn. May be called from any thread; safe in a signal handler.
    package func stop() {
        stopping.store(true, ordering: .releasing)
        wake()
    }
}

/// Identifies the calling thread among the running ones; never 0.
private func currentThread() -> UInt { UInt(pthread_self()) }
