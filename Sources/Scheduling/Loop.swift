/// The one thread on which everything runs that waits.
@globalActor
package actor Loop {
    package static let shared = Loop()

    /// The queue that a running event loop serves.
    package static let executor = LoopExecutor()

    package nonisolated var unownedExecutor: UnownedSerialExecutor {
        unsafe Self.executor.asUnownedSerialExecutor()
    }

    /// Starts a root task that stays, with all its children, on the loop's thread.
    ///
    /// A bare `Task { @Loop in … }` would wake Dispatch's thread pool; this does not.
    @discardableResult
    package nonisolated static func spawn(_ operation: @escaping @Sendable @Loop () async -> Void) -> Task<Void, Never>
    {
        Task(executorPreference: executor) { await operation() }
    }
}
