import Platform
import Scheduling

/// The rule for overload: how long queries wait for the loop decides.
///
/// A query that the cache cannot answer waits in a queue until the loop takes it, over UDP and TCP alike. While the loop
/// keeps up, the queue is empty after each turn, however long a turn takes. The loop is overloaded once queries have been
/// left over for 0.1 s, each after a wait above the target (as in CoDel, RFC 8289). From then on a client network whose
/// first query has waited for `ServerLimits.patience` gets SERVFAIL for more (`RefusalLimit`), until the queue is empty
/// or the wait short again. So what is taken is answered in time, and a network with few queries is not refused because
/// of others.
///
/// An overloaded loop takes none while enough of those that began within the last 0.1 s wait for room at the sources: each
/// query under way takes memory and displaces CPU cache lines, which makes a miss more expensive. Those that have waited
/// for longer do so for slow sources, and say nothing about the loop. A loop that keeps up takes everything, however many
/// wait.
@Loop
final class QueryIntake {
    private let queries: Mailbox<MissedQuery>
    private let pending: PendingQueries
    private let responder: any QueryResponder
    private let clock: any LoopClock
    private let limits: ServerLimits
    /// How many were to be taken in this turn.
    private var wanted = 0
    /// Since when queries have been left over after a wait above the target; nil: they were not in the last turn.
    private var lateSince: Instant?
    private(set) var isOverloaded = false

    init(
        _ queries: Mailbox<MissedQuery>, pending: PendingQueries, responder: any QueryResponder, clock: any LoopClock,
        limits: ServerLimits
    ) {
        self.queries = queries
        self.pending = pending
        self.responder = responder
        self.clock = clock
        self.limits = limits
    }

    /// How many queries are taken now. Called in every turn of the loop.
    func room() -> Int {
        wanted = limits.intake
        let recent = pending.recentCount(at: clock.now)
        if isOverloaded, responder.isBacklogged { wanted = max(0, min(wanted, limits.backlogged - recent)) }
        return wanted
    }

    /// Evaluates the wait of queries that are taken, at least one.
    func take(_ batch: [MissedQuery]) {
        let now = clock.now
        guard batch.count >= wanted, batch.contains(where: { now - $0.arrived > limits.target }) else {
            lateSince = nil
            return change(isOverloaded: false)
        }
        let since = lateSince ?? now
        lateSince = since
        if now - since >= limits.interval { change(isOverloaded: true) }
    }

    private func change(isOverloaded: Bool) {
        guard self.isOverloaded != isOverloaded else { return }
        self.isOverloaded = isOverloaded
        queries.refuse(after: isOverloaded ? limits.patience : nil)
    }
}
