/// Asynchronous work on the loop, for those who are told of its end by a call.
@Loop
package final class SpawnedWork<Value: Sendable>: Cancellable {
    private var done: (@Loop (Value) -> Void)?
    private var task: Task<Void, Never>?

    /// - Parameters:
    ///   - work: begun at the next turn of the loop; its task is cancelled by `cancel()`.
    ///   - done: called once with what came of it, never before this returns.
    package init(_ work: @escaping @Sendable @Loop () async -> Value, done: @escaping @Loop (Value) -> Void) {
        self.done = done
        task = Loop.spawn { [self] in
            let value = await work()
            task = nil
            self.done.take()?(value)
        }
    }

    package func cancel() {
        done = nil
        task?.cancel()
        task = nil
    }
}
