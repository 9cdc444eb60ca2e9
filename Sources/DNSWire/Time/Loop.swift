import Synchronization

/// The one thread on which everything runs that waits.
@globalActor
public actor Loop {
    public static let shared = Loop()

    /// The queue that a running event loop serves.
    public static let executor = LoopExecutor()

    public nonisolated var unownedExecutor: UnownedSerialExecutor {
        unsafe Self.executor.asUnownedSerialExecutor()
    }

    /// Starts a root task that stays, with all its children, on the loop's thread.
    ///
    /// A bare `Task { @Loop in … }` would wake Dispatch's thread pool; this does not.
    @discardableResult
    public nonisolated static func spawn(_ operation: @escaping @Sendable @Loop () async -> Void) -> Task<Void, Never> {
        Task(executorPreference: executor) { await operation() }
    }
}

/// The time for the loop's classes: the event loop's own clock in the daemon, a manual one in tests.
@Loop
public protocol LoopClock: AnyObject, Sendable {
    /// The present time, read once per turn of the loop.
    var now: Instant { get }

    /// Calls `body` on the loop once `instant` is reached, never before this returns.
    func schedule(at instant: Instant, _ body: @escaping @Loop () -> Void) -> LoopTimer
}

extension LoopClock {
    public func schedule(after duration: Duration, _ body: @escaping @Loop () -> Void) -> LoopTimer {
        schedule(at: now + duration, body)
    }

    /// Suspends until `instant`, or until the task is cancelled, whichever comes first.
    ///
    /// - Returns: whether the instant was reached.
    @discardableResult
    public func sleep(until instant: Instant) async -> Bool {
        let sleeper = Sleeper()
        return await withTaskCancellationHandler {
            await withCheckedContinuation { continuation in
                sleeper.continuation = continuation
                guard !Task.isCancelled else { return sleeper.finish(false) }
                sleeper.timer = schedule(at: instant) { sleeper.finish(true) }
            }
        } onCancel: {
            // May run anywhere, also inside a C callback: only enqueue.
            Loop.spawn { sleeper.finish(false) }
        }
    }
}

/// One suspended `sleep(until:)`.
@Loop
private final class Sleeper: Sendable {
    var continuation: CheckedContinuation<Bool, Never>?
    var timer: LoopTimer?

    nonisolated init() {}

    func finish(_ reached: Bool) {
        timer.take()?.cancel()
        continuation.take()?.resume(returning: reached)
    }
}

/// A scheduled call; cancelling one that has run, or twice, does nothing.
@Loop
public final class LoopTimer: Sendable {
    /// The work still to be done; nil once run or cancelled, so that nothing it holds outlives it.
    private var body: (@Loop () -> Void)?

    public init(_ body: @escaping @Loop () -> Void) { self.body = body }

    public var isPending: Bool { body != nil }

    public func cancel() { body = nil }

    /// Runs the work if it is still wanted. For clocks.
    public func fire() { body.take()?() }
}

/// Work under way that can be cancelled.
@Loop
public protocol Cancellable: AnyObject, Sendable {
    /// Cancels the work at once: its completion is not called any more. Does nothing after the end.
    func cancel()
}

/// Asynchronous work on the loop, with a callback at its end.
@Loop
public final class SpawnedWork<Value: Sendable>: Cancellable {
    private var done: (@Loop (Value) -> Void)?
    private var task: Task<Void, Never>?

    /// The work begins at the next turn of the loop, and its task is cancelled by `cancel()`. `done` is called once with
    /// its result, never before this returns.
    public init(_ work: @escaping @Sendable @Loop () async -> Value, done: @escaping @Loop (Value) -> Void) {
        self.done = done
        task = Loop.spawn { [self] in
            let value = await work()
            task = nil
            self.done.take()?(value)
        }
    }

    public func cancel() {
        done = nil
        task.take()?.cancel()
    }
}

/// The thread that runs a `LoopExecutor`: it can be woken, and can identify itself.
public protocol LoopThread: AnyObject, Sendable {
    /// Makes the thread call `LoopExecutor.runJobs()` soon. Called from any thread.
    func wake()
    /// Whether the caller runs on this thread.
    func isCurrent() -> Bool
}

/// The queue behind `@Loop`: first in, first out, filled from any thread, emptied by one.
public final class LoopExecutor: SerialExecutor, TaskExecutor {
    private struct State {
        var jobs: [UnownedJob] = []
        var idleWaiters: [CheckedContinuation<Void, Never>] = []
        var thread: (any LoopThread)?
    }

    private let state = Mutex(State())
    /// The number of times that the lock was taken.
    ///
    /// The mutex alone provides mutual exclusion. But the thread sanitizer does not see into the standard library's
    /// path for a contended mutex; an acquiring load and a releasing store show it the order.
    private let turns = Atomic<Int>(0)

    public init() {}

    private func withState<Result>(_ body: (inout State) -> Result) -> Result {
        state.withLock { state in
            let turn = turns.load(ordering: .acquiring)
            defer { turns.store(turn &+ 1, ordering: .releasing) }
            return body(&state)
        }
    }

    /// Sets the thread that will run the jobs; one for the life of the process.
    public func attach(_ thread: any LoopThread) {
        let pending = withState { state in
            state.thread = thread
            return !state.jobs.isEmpty
        }
        if pending { thread.wake() }
    }

    public func enqueue(_ job: consuming ExecutorJob) {
        let unowned = UnownedJob(job)
        let sleeper: (any LoopThread)? = withState { state in
            state.jobs.append(unowned)
            return state.jobs.count == 1 ? state.thread : nil
        }
        if let sleeper, !sleeper.isCurrent() { sleeper.wake() }
    }

    /// Runs what is queued, and what that queues, up to `limit` jobs so that sockets get their turn. Returns whether jobs
    /// are left. Only the attached thread calls this.
    public func runJobs(limit: Int = 1_024) -> Bool {
        var left = limit
        while left > 0 {
            let batch = withState { state in
                let jobs = state.jobs
                state.jobs = []
                return jobs
            }
            if batch.isEmpty {
                let waiters = withState { state in
                    let waiters = state.idleWaiters
                    state.idleWaiters = []
                    return waiters
                }
                if waiters.isEmpty { return false }
                for waiter in waiters { waiter.resume() }
                continue
            }
            for job in batch {
                unsafe job.runSynchronously(
                    isolatedTo: asUnownedSerialExecutor(), taskExecutor: asUnownedTaskExecutor())
            }
            left -= batch.count
        }
        // Waiters for idleness are work too: with the limit reached, nothing else would resume them.
        return hasJobs
    }

    /// Whether `runJobs` would have something to do.
    public var hasJobs: Bool { withState { !$0.jobs.isEmpty || !$0.idleWaiters.isEmpty } }

    /// Returns once no job is left to run: every other task waits for a timer, a socket or another task.
    @Loop
    public func idle() async {
        await withCheckedContinuation { continuation in
            withState { $0.idleWaiters.append(continuation) }
        }
    }

    public func asUnownedSerialExecutor() -> UnownedSerialExecutor { unsafe UnownedSerialExecutor(ordinary: self) }

    public func asUnownedTaskExecutor() -> UnownedTaskExecutor { unsafe UnownedTaskExecutor(ordinary: self) }

    public func isIsolatingCurrentContext() -> Bool? { withState { $0.thread }?.isCurrent() ?? false }

    public func checkIsolated() {
        precondition(isIsolatingCurrentContext() == true, "called off the loop thread")
    }
}
