/// The time for the loop's classes: the event loop's own clock in the daemon, a manual one in tests.
@Loop
package protocol LoopClock: AnyObject, Sendable {
    /// The present time, read once per turn of the loop.
    var now: Instant { get }

    /// Calls `body` on the loop once `instant` is reached, never before this returns.
    func schedule(at instant: Instant, _ body: @escaping @Loop () -> Void) -> LoopTimer
}

extension LoopClock {
    package func schedule(after duration: Duration, _ body: @escaping @Loop () -> Void) -> LoopTimer {
        schedule(at: now + duration, body)
    }

    /// Suspends until `instant`, or until the task is cancelled, whichever comes first.
    ///
    /// - Returns: whether the instant was reached.
    @discardableResult
    package func sleep(until instant: Instant) async -> Bool {
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
        timer?.cancel()
        timer = nil
        continuation.take()?.resume(returning: reached)
    }
}
