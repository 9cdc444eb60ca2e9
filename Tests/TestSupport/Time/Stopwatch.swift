import Foundation
import Synchronization

/// Measures a duration, with and without the time for which the machine stalled.
///
/// A thread that is due every few milliseconds measures its own delay: on a machine that is busy, or slowed by another
/// one's load, all other threads are delayed too. On a quiet machine both times are the same.
package final class Stopwatch: Sendable {
    private struct State {
        /// When the thread ran last, and its total delay until then.
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

    /// The number of seconds begun so far, by which a TTL may have counted down.
    package var seconds: UInt32 { UInt32(elapsed.inSeconds.rounded(.up)) }

    /// The part of it for which the machine stalled.
    package var lost: Duration {
        state.withLock { $0.late + max(.zero, ContinuousClock.now - $0.seen - Self.tick) }
    }

    /// The time so far, less `lost`.
    package var fair: Duration { elapsed - lost }
}
