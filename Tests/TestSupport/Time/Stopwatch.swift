import Foundation
import Synchronization

/// How long something takes, with and without the time in which the machine let nobody run.
///
/// A thread that wants to run every few milliseconds notes how late it gets to: on a machine that is busy, or that another one's
/// load holds up, everybody else is late too. On a quiet machine both times are the same.
package final class Stopwatch: Sendable {
    private struct State {
        /// When the thread ran last, and how late it was in all by then.
        var seen: ContinuousClock.Instant
        var late = Duration.zero
    }

    private static let tick = Duration.milliseconds(2)

    /// When it was started.
    package let start: ContinuousClock.Instant
    private let state: Mutex<State>

    package init() {
        start = .now
        state = Mutex(State(seen: start))
        Thread.detachNewThread { [weak self] in
            while true {
                Thread.sleep(forTimeInterval: Self.tick.inSeconds)
                guard let self else { return }
                self.state.withLock { state in
                    let now = ContinuousClock.now
                    state.late += max(.zero, now - state.seen - Self.tick)
                    state.seen = now
                }
            }
        }
    }

    /// The whole time so far.
    package var elapsed: Duration { .now - start }

    /// The seconds that have begun so far: by so much a TTL may have counted down.
    package var seconds: UInt32 { UInt32(elapsed.inSeconds.rounded(.up)) }

    /// How much of it the machine let nobody run.
    package var lost: Duration {
        state.withLock { $0.late + max(.zero, ContinuousClock.now - $0.seen - Self.tick) }
    }

    /// The time so far without what was lost.
    package var fair: Duration { elapsed - lost }
}
