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
    /// Set while less is taken on than came.
    private var timer: LoopTimer?
    /// How many queries may wait for the resolver then, and as many on their way.
    private var limit = 0
    /// How many had been answered when that was judged.
    private var finished = 0

    init(_ queries: Mailbox<MissedQuery>, pending: PendingQueries, loop: EventLoop, limits: ServerLimits) {
        self.queries = queries
        self.pending = pending
        self.loop = loop
        self.limits = limits
    }

    /// How many queries are taken now.
    func room() -> Int {
        if loop.isSaturated, timer == nil { restrict(to: limits.saturated) }
        return timer == nil ? limits.intake : max(0, min(limits.intake, limit - pending.count))
    }

    private func restrict(to limit: Int) {
        self.limit = limit
        queries.limit(to: min(limit, limits.mailbox))
        finished = pending.finished
        timer = loop.schedule(after: limits.saturation) { [self] in
            timer = nil
            guard loop.isSaturated else { return queries.limit(to: limits.mailbox) }
            restrict(to: max(limits.saturated, pending.finished - finished))
        }
    }
}
