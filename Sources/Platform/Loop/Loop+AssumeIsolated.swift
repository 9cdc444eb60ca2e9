package import Scheduling

extension Loop {
    /// Runs `operation` at once, given that the caller already is on the loop's thread: for C callbacks.
    ///
    /// Stops the process when that is not so. Pointers that a callback received from C are not `Sendable`: rebind them
    /// as `nonisolated(unsafe) let` before they are captured.
    package nonisolated static func assumeIsolated<Value: Sendable>(
        _ operation: @Loop () throws -> Value
    ) rethrows -> Value {
        // The runtime's own check asks a queue behind a lock; on any other thread it stops the process.
        if !LoopWaker.isOnLoopThread { shared.preconditionIsolated() }
        // Isolation is part of the type only; the calling convention of a synchronous function is the same.
        return try withoutActuallyEscaping(operation) { operation in
            unsafe try unsafeBitCast(operation, to: (() throws -> Value).self)()
        }
    }
}
