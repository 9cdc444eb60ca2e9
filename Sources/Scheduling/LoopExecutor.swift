import Synchronization

/// The thread that runs a `LoopExecutor`: it can be woken, and can identify itself.
package protocol LoopThread: AnyObject, Sendable {
    /// Makes the thread call `LoopExecutor.runJobs()` soon. Called from any thread.
    func wake()
    /// Whether the caller runs on this thread.
    func isCurrent() -> Bool
}

/// The queue behind `@Loop`: first in, first out, filled from any thread, emptied by one.
package final class LoopExecutor: SerialExecutor, TaskExecutor {
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

    package init() {}

    private func withState<Result>(_ body: (inout State) -> Result) -> Result {
        state.withLock { state in
            let turn = turns.load(ordering: .acquiring)
            defer { turns.store(turn &+ 1, ordering: .releasing) }
            return body(&state)
        }
    }

    /// Sets the thread that will run the jobs; one for the life of the process.
    package func attach(_ thread: any LoopThread) {
        let pending = withState { state in
            state.thread = thread
            return !state.jobs.isEmpty
        }
        if pending { thread.wake() }
    }

    package func enqueue(_ job: consuming ExecutorJob) {
        let unowned = UnownedJob(job)
        let sleeper: (any LoopThread)? = withState { state in
            state.jobs.append(unowned)
            return state.jobs.count == 1 ? state.thread : nil
        }
        if let sleeper, !sleeper.isCurrent() { sleeper.wake() }
    }

    /// Runs what is queued, and what that queues, up to `limit` jobs so that sockets get their turn.
    ///
    /// - Returns: whether jobs are left. Only the attached thread calls this.
    package func runJobs(limit: Int = 1_024) -> Bool {
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
    package var hasJobs: Bool { withState { !$0.jobs.isEmpty || !$0.idleWaiters.isEmpty } }

    /// Returns once no job is left to run: every other task waits for a timer, a socket or another task.
    @Loop
    package func idle() async {
        await withCheckedContinuation { continuation in
            withState { $0.idleWaiters.append(continuation) }
        }
    }

    package func asUnownedSerialExecutor() -> UnownedSerialExecutor { unsafe UnownedSerialExecutor(ordinary: self) }

    package func asUnownedTaskExecutor() -> UnownedTaskExecutor { unsafe UnownedTaskExecutor(ordinary: self) }

    package func isIsolatingCurrentContext() -> Bool? { withState { $0.thread }?.isCurrent() ?? false }

    package func checkIsolated() {
        precondition(isIsolatingCurrentContext() == true, "called off the loop thread")
    }
}
