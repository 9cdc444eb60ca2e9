import Platform
import Scheduling

/// How fast the loop takes queries from the UDP threads and from TCP connections.
///
/// When more comes than the loop can do, whatever is begun slows down what is under way, and all of it ends too late to be
/// of use. So a saturated loop begins only as much as it finishes, and little while requests wait for room at the sources
/// anyway: each query under way is memory, which the processor's caches then lack, and a miss costs the more.
///
/// What comes beyond by UDP is refused by the UDP threads, which costs the least: its clients are told SERVFAIL, all of them
/// as long as that leaves the loop its CPU (`RefusalShare`). A TCP connection is read no further until some of its queries
/// are answered. Neither transport keeps the other out: each may have what the other leaves, and half in any case. A loop
/// that rests takes everything on, however much waits for slow sources; after a time without rest its bounds go step by step.
@Loop
final class QueryIntake {
    /// Percent of the CPU that the loop is to have before anybody is refused (decision 22).
    private static let fairShare = 76
    /// By how much the bounds grow in each interval in which the loop had some rest, and yet queries were refused.
    private static let growth = 2.0

    private let clock: any LoopClock
    private let isSaturated: @Loop () -> Bool
    private let limits: ServerLimits
    private let pending: PendingQueries
    private let responder: any QueryResponder
    private let queries: Mailbox<MissedQuery>
    private let refusals: RefusalShare
    private let cpuTime: @Loop () -> CPUTime
    /// How many queries were answered lately in the interval `ServerLimits.saturation`, or the least that counts as so many.
    /// Failures do not count: they cost little, and a loop that took on more the more of them there are would never get out.
    private var pace: Int
    /// How many queries a saturated loop has under way at most.
    private var underWay: Int
    /// How many times as many as these two are let in, since the loop has some rest again and still too many come. Without
    /// bounds it would take on more at once than it can answer in time, and so be without rest again.
    private var stretch = 1.0
    /// When that was measured; how many had been answered and refused until then.
    private var measured: Instant
    private var answered = 0
    private var refused = 0
    /// When CPU times were last asked for, and what they were: in each interval in which less is taken on than came, and
    /// before the first of these. Otherwise nobody asks, for that takes system calls.
    private var used: (at: Instant, time: CPUTime)
    /// Set while less is taken on than came.
    private var timer: LoopTimer?

    /// - Parameters:
    ///   - refusals: what the UDP threads go by when `queries` takes no more.
    ///   - cpuTime: what the loop and the process have used.
    ///   - isSaturated: whether the loop has lately had more to do than it can.
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

    /// How many queries are taken from the UDP threads now. To be asked in every turn of the loop.
    func room() -> Int {
        judge()
        if timer == nil, isSaturated() {
            used = (clock.now, cpuTime())
            restrict()
        }
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

    /// Takes stock of the time since that was last done, if that is long enough ago to mean anything.
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

    /// Has fewer refusals told while those keep the loop from its CPU, and more again when they do not.
    ///
    /// The loop is kept from its CPU when it had less than its share both of the time that passed and of the CPU time
    /// that our threads used. Where other programs took it, telling fewer would give the loop nothing, and so little as it
    /// takes to tell a few. A loop that has rest is not kept from anything.
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

    /// Ends an interval in which less was taken on than came: the next one is like it, or wider, or free.
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
