import Platform
import Scheduling

/// How fast the loop takes queries from the UDP threads.
///
/// When more comes than the loop can do, whatever is begun slows down what is under way, and all of it ends too late to be
/// of use. So a saturated loop begins only as much as it finishes, and what comes beyond is told SERVFAIL by the UDP
/// threads, which costs the least. A loop that rests takes everything on, however much waits for slow sources.
@Loop
final class QueryIntake {
    private let loop: EventLoop
    private let limits: ServerLimits
    private let pending: PendingQueries
    private let queries: Mailbox<MissedQuery>
    /// How many queries were answered lately in the interval `ServerLimits.saturation`, or the least that counts as so many.
    private var pace: Int
    /// When that was measured, and how many had been answered until then.
    private var measured: Instant
    private var finished = 0
    /// Set while less is taken on than came.
    private var timer: LoopTimer?

    init(_ queries: Mailbox<MissedQuery>, pending: PendingQueries, loop: EventLoop, limits: ServerLimits) {
        self.queries = queries
        self.pending = pending
        self.loop = loop
        self.limits = limits
        pace = limits.saturated
        measured = loop.now
    }

    /// How many queries are taken now.
    func room() -> Int {
        measure()
        if loop.isSaturated, timer == nil { restrict() }
        return timer == nil ? limits.intake : max(0, min(limits.intake, pace - pending.count))
    }

    private func measure() {
        let elapsed = loop.now - measured
        guard elapsed >= limits.saturation else { return }
        let count = (pending.finished - finished) * Int(limits.saturation.nanoseconds) / Int(elapsed.nanoseconds)
        pace = max(limits.saturated, count)
        measured = loop.now
        finished = pending.finished
    }

    private func restrict() {
        queries.limit(to: min(pace, limits.mailbox))
        timer = loop.schedule(after: limits.saturation) { [self] in
            timer = nil
            measure()
            if loop.isSaturated { restrict() } else { queries.limit(to: limits.mailbox) }
        }
    }
}
