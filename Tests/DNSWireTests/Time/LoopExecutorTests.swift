import DNSWire
import Synchronization
import TestSupport
import Testing

/// A thread that counts how often it is woken, and runs nothing.
private final class CountingThread: LoopThread {
    private let count = Atomic(0)
    private let isOwn: Bool

    /// - Parameter isOwn: whether every caller is considered to run on this thread.
    init(isOwn: Bool = false) { self.isOwn = isOwn }

    var wakes: Int { count.load(ordering: .relaxed) }

    func wake() { count.add(1, ordering: .relaxed) }

    func isCurrent() -> Bool { isOwn }
}

/// The numbers that the jobs have noted so far.
private final class Notes: Sendable {
    private let numbers = Mutex<[Int]>([])

    var all: [Int] { numbers.withLock { $0 } }

    func add(_ number: Int) { numbers.withLock { $0.append(number) } }
}

struct LoopExecutorTests {
    private let executor = LoopExecutor()
    private let notes = Notes()

    /// Queues a job that notes a number, and then runs `more`.
    private func enqueue(_ number: Int, then more: @escaping @Sendable () -> Void = {}) {
        Task(executorPreference: executor) { [notes] in
            notes.add(number)
            more()
        }
    }

    @Test func `jobs run first in first out`() {
        for number in 0..<100 { enqueue(number) }
        #expect(!executor.runJobs())
        #expect(notes.all == Array(0..<100))
    }

    @Test func `what a job queues runs in the same call, after those that waited already`() {
        enqueue(1) { enqueue(3) }
        enqueue(2)
        #expect(!executor.runJobs())
        #expect(notes.all == [1, 2, 3])
    }

    @Test func `at the limit the call ends and says that jobs are left`() {
        enqueue(1) { enqueue(2) }
        #expect(executor.runJobs(limit: 1))
        #expect(notes.all != [1, 2])
        // A task may take more than one job.
        while executor.runJobs(limit: 1) {}
        #expect(notes.all == [1, 2])
    }

    @Test func `jobs queued before there is a thread wake it once it is attached, and run then`() {
        let thread = CountingThread()
        enqueue(1)
        enqueue(2)
        #expect(notes.all.isEmpty)
        executor.attach(thread)
        #expect(thread.wakes == 1)
        #expect(!executor.runJobs())
        #expect(notes.all == [1, 2])
    }

    @Test func `a thread that is attached to an empty queue is left asleep`() {
        let thread = CountingThread()
        executor.attach(thread)
        #expect(thread.wakes == 0)
    }

    @Test func `only the first job of a queue wakes the thread`() {
        let thread = CountingThread()
        executor.attach(thread)
        enqueue(1)
        enqueue(2)
        #expect(thread.wakes == 1)
        _ = executor.runJobs()
        let before = thread.wakes
        enqueue(3)
        enqueue(4)
        #expect(thread.wakes == before + 1)
        _ = executor.runJobs()
    }

    @Test func `a thread does not wake itself`() {
        let thread = CountingThread(isOwn: true)
        executor.attach(thread)
        enqueue(1)
        #expect(thread.wakes == 0)
        _ = executor.runJobs()
        #expect(notes.all == [1])
    }
}

@Suite(.onLoop) struct IdleTests {
    /// Counts in a chain of tasks, each of which starts the next.
    @Loop
    private final class Chain: Sendable {
        private(set) var done = 0

        nonisolated init() {}

        func run(_ links: Int) {
            Loop.spawn {
                await Task.yield()
                self.done += 1
                if links > 1 { self.run(links - 1) }
            }
        }
    }

    @Test @Loop func `idle returns only when nothing is left to run`() async {
        let chain = Chain()
        chain.run(5_000)
        #expect(chain.done == 0)
        await Loop.executor.idle()
        #expect(chain.done == 5_000)
    }

    @Test @Loop func `a turn that ends at its limit leaves waits for idleness to the next one`() async {
        let executor = LoopExecutor()
        let waiting = Loop.spawn { await executor.idle() }
        await Loop.executor.idle()
        #expect(executor.runJobs(limit: 0))
        #expect(!executor.runJobs())
        await waiting.value
    }

    @Test @Loop func `all waits for idleness end`() async {
        let (chain, waiters) = (Chain(), Chain())
        chain.run(100)
        for _ in 0..<10 {
            Loop.spawn {
                await Loop.executor.idle()
                if chain.done == 100 { waiters.run(1) }
            }
        }
        await Loop.executor.idle()
        await Loop.executor.idle()
        #expect(waiters.done == 10)
    }

    @Test @Loop func `idle does not wait for a task that waits for time`() async {
        let clock = ManualClock()
        let chain = Chain()
        let due = clock.now + .seconds(1)
        let task = Loop.spawn {
            await clock.sleep(until: due)
            chain.run(1)
        }
        await Loop.executor.idle()
        #expect(chain.done == 0)
        task.cancel()
        await Loop.executor.idle()
        #expect(chain.done == 1)
    }
}
