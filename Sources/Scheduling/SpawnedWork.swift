/// Asynchronous work on the loop, with a callback at its end.
@Loop
package final class SpawnedWork<Value: Sendable>: Cancellable {
    private var done: (@Loop (Value) -> Void)?
    private var task: Task<Void, Never>?

    /// - Parameters:
    ///   - work: begun at the next turn of the loop; its task is cancelled by `cancel()`.
    ///   - done: called once with its result, never before this returns.
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
