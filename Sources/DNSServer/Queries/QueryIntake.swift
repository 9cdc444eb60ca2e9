import Platform
import Scheduling

/// Bounds how many queries the loop takes from the UDP threads and from TCP connections.
///
/// Under overload, every query begun slows down those under way, and all of them end too late to be of use. So a
/// saturated loop begins only as many as it finishes, and few while requests wait for room at the sources anyway: each
/// query under way takes memory and displaces CPU cache lines, which makes a miss more expensive.
///
/// Queries beyond the bound are refused by the UDP threads, which costs least: their clients get SERVFAIL, all of them
/// as long as that leaves the loop its CPU (`RefusalShare`). A TCP connection is not read further until some of its
/// queries are answered. Neither transport excludes the other: each may use what the other leaves, and half in any
/// case. A loop with spare time takes everything, however many queries wait for slow sources; after a time of
/// saturation its bounds are removed in steps.
@Loop
final class QueryIntake {
    /// Percent of the CPU that the loop gets before refusals are dropped (decision 22).
    private static let fairShare = 76
    /// Factor by which the bounds grow in each interval in which the loop had spare time, and yet queries were refused.
    private static let growth = 2.0

    private let clock: any LoopClock
    private let isSaturated: @Loop () -> Bool
    private let limits: ServerLimits
    private let pending: PendingQueries
    private let responder: any QueryResponder
    private let queries: Mailbox<MissedQuery>
    private let refusals: RefusalShare
    private let cpuTime: @Loop () -> CPUTime
    /// Queries answered in the last interval `ServerLimits.saturation`, at least `ServerLimits.saturated`. Failures do
    /// not count: they cost little, and a loop that took more queries the more of them fail would stay saturated.
    private var pace: Int
    /// The most queries that a saturated loop has under way.
    private var underWay: Int
    /// Factor by which these two bounds are multiplied, while the loop has spare time again and still too many queries
    /// come. Without bounds it would take on more at once than it can answer in time, and be saturated again.
    private var stretch = 1.0
    /// When the interval began; the queries answered and refused by then.
    private var measured: Instant
    private var answered = 0
    private var refused = 0
    /// When CPU times were last read, and their values: read in each interval with bounds, and before the first of
    /// these. Otherwise they are not read, since that takes system calls.
    private var used: (at: Instant, time: CPUTime)
    /// Non-nil while the bounds apply.
    private var timer: LoopTimer?

    /// - Parameters:
    ///   - refusals: the fraction that the UDP threads apply when `queries` is full.
    ///   - cpuTime: returns the CPU time that the loop and the process have used.
    ///   - isSaturated: whether the loop has lately had more work than time.
    init(
        _ queries: Mailbox<MissedQuery>, pending: PendingQueries, responder: any QueryResponder, clock: any LoopClock,
        limits: ServerLimits, refusals: RefusalShare, cpuTime: @escaping @Loop () -> CPUTime = { .now },
        isSaturated: @escaping @Loop () -> Bool
    ) {
        self.responder = responder
        self.queries = queries
        self.refusals = refusals
        self.cpuTime = cpuTime
        self.pending = pending
        self.clock = clock
        self.limits = limits
        self.isSaturated = isSaturated
        pace = limits.saturated
        underWay = pace
        measured = clock.now
        used = (measured, CPUTime(thread: .zero, process: .zero))
    }

    /// How many queries are taken from the UDP threads now. Called in every turn of the loop.
    func room() -> Int {
        judge()
        if timer == nil, isSaturated() {
            used = (clock.now, cpuTime())
            restrict()
        }
        guard timer != nil else { return limits.intake }
        return max(0, min(limits.intake, max(underWay - pending.count, underWay / 2 - pending.datagramCount)))
    }

    /// How many queries of each TCP connection may wait for the resolver now; at least 1, so that a connection that is
    /// not being read continues with its next response.
    ///
    /// - Parameter connections: the number of open connections.
    func share(of connections: Int) -> Int {
        guard timer != nil else { return limits.pendingPerConnection }
        let all = max(underWay - pending.datagramCount, underWay / 2)
        return max(1, min(limits.pendingPerConnection, all / max(1, connections)))
    }

    /// Evaluates the interval since the last evaluation, if it is long enough to be meaningful.
    private func judge() {
        let elapsed = clock.now - measured
        guard elapsed >= limits.saturation else { return }
        func paced(_ count: Int) -> Int { count * Int(limits.saturation.nanoseconds) / Int(elapsed.nanoseconds) }
        let refused = refusals.counts.refused
        let (areTooMany, isFlood) = (refused != self.refused, paced(refused - self.refused) >= limits.flood)
        pace = max(limits.saturated, paced(pending.answered - answered))
        (measured, answered, self.refused) = (clock.now, pending.answered, refused)
        guard timer != nil else { return refusals.raise() }
        divide(isFlood)
        goOn(areTooMany)
    }

    /// Lowers the fraction of refusals that are answered while these deprive the loop of its CPU, and raises it
    /// otherwise.
    ///
    /// The loop is deprived of its CPU when it had less than its share both of the elapsed time and of the CPU time
    /// that our threads used. Where other programs took the CPU, answering fewer refusals would gain the loop nothing,
    /// and a few refusals take little anyway. A loop with spare time is not deprived.
    private func divide(_ isFlood: Bool) {
        let now = (at: clock.now, time: cpuTime())
        let elapsed = now.at - used.at
        let (loop, all) = (now.time.thread - used.time.thread, now.time.process - used.time.process)
        used = now
        guard isFlood else { return refusals.raise() }
        guard isSaturated() else { return }
        if loop * 100 < elapsed * Self.fairShare && loop * 100 < all * Self.fairShare {
            refusals.lower()
        } else {
            refusals.raise()
        }
    }

    /// Ends an interval with bounds: the next one has the same bounds, wider ones, or none.
    private func goOn(_ areTooMany: Bool) {
        timer.take()?.cancel()
        stretch = isSaturated() || !areTooMany ? 1 : stretch * Self.growth
        let isWide = Double(limits.backlogged) * stretch >= Double(limits.mailbox)
        if isSaturated() || areTooMany && !isWide { return restrict() }
        stretch = 1
        queries.limit(to: limits.mailbox)
    }

    private func restrict() {
        underWay = Int(Double(responder.isBacklogged ? limits.backlogged : pace) * stretch)
        queries.limit(to: min(Int(Double(pace) * stretch), limits.mailbox))
        timer = clock.schedule(after: limits.saturation) { [self] in judge() }
    }
}
