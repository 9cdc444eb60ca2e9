import Platform
import Scheduling

/// How fast the loop takes queries from the UDP threads and from TCP connections.
///
/// When more comes than the loop can do, whatever is begun slows down what is under way, and all of it ends too late to be
/// of use. So a saturated loop begins only as much as it finishes, and little while requests wait for room at the sources
/// anyway: each query under way is memory, which the processor's caches then lack, and a miss costs the more.
///
/// What comes beyond by UDP is told SERVFAIL by the UDP threads, which costs the least; a TCP connection is read no further
/// until some of its queries are answered. Neither transport keeps the other out: each may have what the other leaves, and
/// half in any case. A loop that rests takes everything on, however much waits for slow sources.
@Loop
final class QueryIntake {
    private let clock: any LoopClock
    private let isSaturated: @Loop () -> Bool
    private let limits: ServerLimits
    private let pending: PendingQueries
    private let responder: any QueryResponder
    private let queries: Mailbox<MissedQuery>
    /// How many queries were answered lately in the interval `ServerLimits.saturation`, or the least that counts as so many.
    private var pace: Int
    /// How many queries a saturated loop has under way at most.
    private var underWay: Int
    /// When that was measured, and how many had been answered until then.
    private var measured: Instant
    private var finished = 0
    /// Set while less is taken on than came.
    private var timer: LoopTimer?

    /// - Parameter isSaturated: whether the loop has lately had more to do than it can.
    init(
        _ queries: Mailbox<MissedQuery>, pending: PendingQueries, responder: any QueryResponder, clock: any LoopClock,
        limits: ServerLimits, isSaturated: @escaping @Loop () -> Bool
    ) {
        self.responder = responder
        self.queries = queries
        self.pending = pending
        self.clock = clock
        self.limits = limits
        self.isSaturated = isSaturated
        pace = limits.saturated
        underWay = pace
        measured = clock.now
    }

    /// How many queries are taken from the UDP threads now. To be asked in every turn of the loop.
    func room() -> Int {
        measure()
        if timer == nil, isSaturated() { restrict() }
        guard timer != nil else { return limits.intake }
        return max(0, min(limits.intake, max(underWay - pending.count, underWay / 2 - pending.datagramCount)))
    }

    /// How many queries of each TCP connection may wait for the resolver now; at least 1, so that a connection that was
    /// read no further goes on with its next reply.
    ///
    /// - Parameter connections: how many are open.
    func share(of connections: Int) -> Int {
        guard timer != nil else { return limits.pendingPerConnection }
        let all = max(underWay - pending.datagramCount, underWay / 2)
        return max(1, min(limits.pendingPerConnection, all / max(1, connections)))
    }

    private func measure() {
        let elapsed = clock.now - measured
        guard elapsed >= limits.saturation else { return }
        let count = (pending.finished - finished) * Int(limits.saturation.nanoseconds) / Int(elapsed.nanoseconds)
        pace = max(limits.saturated, count)
        underWay = responder.isBacklogged ? limits.backlogged : pace
        measured = clock.now
        finished = pending.finished
    }

    private func restrict() {
        queries.limit(to: min(pace, limits.mailbox))
        timer = clock.schedule(after: limits.saturation) { [self] in
            timer = nil
            measure()
            if isSaturated() { restrict() } else { queries.limit(to: limits.mailbox) }
        }
    }
}
