import Platform

/// A separate thread for tests that block while a server measures seconds.
///
/// On the common pool, which has as many threads as there are CPUs, a test that awaits something continues only after
/// hundreds of others have had their turns.
package final class ThreadExecutor: TaskExecutor {
    private struct State {
        var jobs: [UnownedJob] = []
        var isEnding = false
    }

    private let state = Monitor(State())

    private init() {}

    package func enqueue(_ job: consuming ExecutorJob) {
        let job = UnownedJob(job)
        state.withLock { $0.jobs.append(job) }
    }

    /// Runs `body` on a new thread, which ends with it.
    package static func run(_ body: @concurrent () async throws -> Void) async throws {
        let executor = ThreadExecutor()
        _ = try NamedThread("test") { executor.work() }
        defer { executor.state.withLock { $0.isEnding = true } }
        try await withTaskExecutorPreference(executor, operation: body)
    }

    private func work() {
        while true {
            _ = state.wait(.seconds(3_600)) { !$0.jobs.isEmpty || $0.isEnding }
            let jobs = state.withLock { state in
                defer { state.jobs = [] }
                return state.jobs
            }
            if jobs.isEmpty { return }
            for job in jobs { job.runSynchronously(on: asUnownedTaskExecutor()) }
        }
    }
}
