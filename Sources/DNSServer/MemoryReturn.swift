import Platform
import Scheduling

/// Returns free memory to the operating system after a burst; the allocator itself retains what the peak needed.
///
/// Returning it walks all free memory, which takes the loop some milliseconds (`Documentation/Performance.md`). So it
/// is done only after a large burst, and once that has been over for a while.
@Loop
final class MemoryReturn: Sendable {
    /// Queries that must have waited at once for a burst; fewer leave too little memory to be worth the time.
    nonisolated static let queries = 256
    /// The same for open TCP connections, each with its buffers.
    nonisolated static let connections = 64
    /// Delay between the end of a burst and the return of memory.
    private static let rest: Duration = .seconds(1)

    private let clock: any LoopClock
    private let giveBack: @Loop () -> Void
    /// Whether there was a burst since memory was last returned.
    private var isDue = false
    private var timer: LoopTimer?

    /// - Parameter giveBack: returns free memory to the system; replaced in tests.
    nonisolated init(clock: any LoopClock, giveBack: @escaping @Loop () -> Void = { returnFreeMemory() }) {
        self.clock = clock
        self.giveBack = giveBack
    }

    /// Notes that the number of queries or connections has reached the bound of a burst.
    func burst() {
        isDue = true
        timer.take()?.cancel()
    }

    /// Notes that no query waits, or no connection is open, any more; schedules the return of memory after a burst.
    func emptied() {
        guard isDue, timer == nil else { return }
        timer = clock.schedule(after: Self.rest) { [self] in
            timer = nil
            isDue = false
            giveBack()
        }
    }
}
