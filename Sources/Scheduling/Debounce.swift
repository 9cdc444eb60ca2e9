/// Combines a burst of calls into one, once they have stopped for a moment.
///
/// Sets a timer only after a call.
@Loop
package final class Debounce {
    private let quiet: Duration
    private let longest: Duration
    private let clock: any LoopClock
    private let body: @Loop () -> Void
    private var first: Instant?
    private var timer: LoopTimer?

    /// - Parameters:
    ///   - quiet: how long there must be no call.
    ///   - longest: the most time from the first call until `body`, however many calls there are.
    package nonisolated init(
        quiet: Duration, longest: Duration, clock: any LoopClock, _ body: @escaping @Loop () -> Void
    ) {
        self.quiet = quiet
        self.longest = longest
        self.clock = clock
        self.body = body
    }

    package func touch() {
        let began = first ?? clock.now
        first = began
        timer?.cancel()
        timer = clock.schedule(at: min(clock.now + quiet, began + longest)) { [weak self] in
            self?.first = nil
            self?.body()
        }
    }
}
