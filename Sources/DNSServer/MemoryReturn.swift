import Platform
import Scheduling

/// Gives memory back to the system once a burst is over: by itself the allocator keeps what was in use at the peak.
///
/// To give back means to go through all that is free, which takes the loop some milliseconds (`Documentation/Performance.md`). So it
/// is done only after there was much, and when all of it has been gone for a while.
@Loop
final class MemoryReturn: Sendable {
    /// How many queries must have waited at once: below that, what they leave is not worth the time.
    nonisolated static let queries = 256
    /// The same of open TCP connections, each with its buffers.
    nonisolated static let connections = 64
    /// How long after the burst.
    private static let rest: Duration = .seconds(1)

    private let clock: any LoopClock
    private let giveBack: @Loop () -> Void
    /// Whether there was a burst since memory was last given back.
    private var isDue = false
    private var timer: LoopTimer?

    /// - Parameter giveBack: does it.
    nonisolated init(clock: any LoopClock, giveBack: @escaping @Loop () -> Void = { returnFreeMemory() }) {
        self.clock = clock
        self.giveBack = giveBack
    }

    /// There is much now.
    func burst() {
        isDue = true
        timer.take()?.cancel()
    }

    /// There is nothing any more.
    func emptied() {
        guard isDue, timer == nil else { return }
        timer = clock.schedule(after: Self.rest) { [self] in
            timer = nil
            isDue = false
            giveBack()
        }
    }
}
