import DNSWire
import Foundation
import Testing

/// State behind a lock, for whose changes a thread can wait with a deadline.
///
/// Every change made through `withLock` wakes the waiters, which check again.
package final class Monitor<State>: @unchecked Sendable {
    private let condition = NSCondition()
    private var state: State

    package init(_ state: State) { self.state = state }

    @discardableResult
    package func withLock<Result>(_ body: (inout State) throws -> Result) rethrows -> Result {
        condition.lock()
        defer {
            condition.broadcast()
            condition.unlock()
        }
        return try body(&state)
    }

    /// Reads without waking any waiter.
    package func read<Result>(_ body: (State) throws -> Result) rethrows -> Result {
        condition.lock()
        defer { condition.unlock() }
        return try body(state)
    }

    /// Waits until `holds` is true of the state, by what the loop does: so on the loop it is an issue, and false.
    ///
    /// - Returns: whether it became true within `limit`.
    package func waitForLoop(_ limit: Duration, until holds: (State) -> Bool) -> Bool {
        guard Loop.executor.isIsolatingCurrentContext() != true else {
            Issue.record("the loop waits for itself")
            return false
        }
        return wait(limit, until: holds)
    }

    /// Waits until `holds` is true of the state.
    ///
    /// - Returns: whether it became true within `limit`.
    package func wait(_ limit: Duration, until holds: (State) -> Bool) -> Bool {
        condition.lock()
        defer { condition.unlock() }
        let deadline = Date(timeIntervalSinceNow: limit.inSeconds)
        while !holds(state) {
            guard condition.wait(until: deadline) else { return holds(state) }
        }
        return true
    }
}
