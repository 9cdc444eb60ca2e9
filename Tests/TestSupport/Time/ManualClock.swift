package import DNSWire
import Platform

/// A clock that advances only when the test moves it, so that a scenario runs the same way every time.
@Loop
package final class ManualClock: LoopClock {
    package private(set) var now: Instant
    private var timers = TimerQueue()

    /// The time of the next timer; nil when none is pending.
    package var nextDue: Instant? { timers.nextDue() }

    package nonisolated init(now: Instant = Instant(nanoseconds: 1_000_000_000_000)) { self.now = now }

    package func schedule(at instant: Instant, _ body: @escaping @Loop () -> Void) -> LoopTimer {
        let timer = LoopTimer(body)
        timers.add(timer, at: instant)
        return timer
    }

    /// Lets time pass in which nothing runs, as while the process is stopped.
    package func stop(for duration: Duration) { now = now + duration }

    /// Advances time by `duration`, stopping at each timer in turn.
    ///
    /// Before the first timer, after each, and at the end it waits until no task has work left, so that the effects of
    /// a timer, including further timers in the span, occur at its own time.
    package func advance(by duration: Duration) async {
        let end = now + duration
        await Loop.executor.idle()
        while let due = timers.nextDue(), due <= end {
            now = max(now, due)
            timers.popDue(at: now)?.fire()
            await Loop.executor.idle()
        }
        now = end
        await Loop.executor.idle()
    }
}
