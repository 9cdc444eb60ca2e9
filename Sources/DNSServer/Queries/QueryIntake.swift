import DNSWire
import Platform

/// The rule for overload: how long queries wait for the loop decides.
///
/// A query over UDP that the cache cannot answer waits in a queue until the loop takes it. While the loop keeps up, the queue
/// is empty after each turn, however long a turn takes. Queries that are left over after a wait above the target (as in
/// CoDel, RFC 8289) may be a burst, such as what came while no process served. The loop is overloaded once it needs longer
/// than `ServerLimits.catchUp` for all of them, at the speed that it has had since, or the queue stays full. From then on a
/// client network whose first query has waited for `ServerLimits.patience` gets SERVFAIL for more (`RefusalLimit`), until
/// the queue is empty or the wait short again. So what is taken is answered in time, and a network with few queries is not
/// refused because of others.
///
/// An overloaded loop takes none while enough of those that began within the last 0.1 s wait for room at the sources: each
/// query under way takes memory and displaces CPU cache lines, which makes a miss more expensive. Those that have waited
/// for longer do so for slow sources, and say nothing about the loop. A loop that keeps up takes everything, however many
/// wait.
///
/// Queries over connections wait there, unread, for their turn (`TurnQueue`), and take nothing of this.
@Loop
final class QueryIntake {
    private let queries: Mailbox<MissedQuery>
    private let pending: PendingQueries
    private let responder: any QueryResponder
    private let clock: any LoopClock
    private let limits: ServerLimits
    /// How many were to be taken in this turn.
    private var wanted = 0
    /// Nil: none were left over after a wait above the target in the last turn.
    private var lateness: Lateness?
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

    /// Takes what waits from now on, and reports how many were refused meanwhile. Called once.
    func begin(reporting refusals: RefusalLimit, to events: EventLog) {
        var reported = refusals.counts
        queries.receive(room: { [self] in room() }) { [self] batch in
            take(batch)
            for miss in batch {
                pending.add(
                    miss.message, from: miss.client, miss.program, path: .datagram(miss.path), arrived: miss.arrived)
            }
            let counts = refusals.counts
            let (refused, dropped) = (counts.refused - reported.refused, counts.dropped - reported.dropped)
            guard refused > 0 else { return }
            reported = counts
            var text = "more queries come than can be taken: \(refused - dropped) were answered with SERVFAIL"
            if dropped > 0 { text += ", \(dropped) not at all" }
            events.report(.limitQueries, about: "mailbox", text)
        }
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
            lateness = nil
            return change(isOverloaded: false)
        }
        guard !isOverloaded else { return }
        guard var late = lateness else { return lateness = Lateness(turn: now) }
        late.begin(now)
        let waiting = batch.count + queries.count
        if late.time >= limits.interval,
            waiting >= limits.mailbox || late.time * (late.taken + waiting) > limits.catchUp * late.taken
        {
            change(isOverloaded: true)
        }
        late.taken += batch.count
        lateness = late
    }

    private func change(isOverloaded: Bool) {
        guard self.isOverloaded != isOverloaded else { return }
        self.isOverloaded = isOverloaded
        queries.refuse(after: isOverloaded ? limits.patience : nil)
    }
}

/// Turns that each left queries over after a wait above the target.
private struct Lateness {
    /// When the last turn began.
    private var turn: Instant
    private var all: Duration = .zero
    private var longest: Duration = .zero
    /// How many were taken, without those of one turn.
    var taken = 0

    init(turn: Instant) { self.turn = turn }

    /// How long they have lasted, without the longest: the process may have been stopped in it, or the machine suspended.
    var time: Duration { all - longest }

    mutating func begin(_ now: Instant) {
        all += now - turn
        longest = max(longest, now - turn)
        turn = now
    }
}

/// A query over UDP that the cache could not answer, on its way to the loop.
struct MissedQuery: Sendable {
    let message: [UInt8]
    let client: SocketAddress
    let path: DatagramPath
    let arrived: Instant
    /// The program of this machine that asks, where it was looked for and found.
    let program: ClientNetwork?

    /// By which the places of waiting queries are shared, and how long it waits.
    var origin: SharedQueue<MissedQuery>.Origin { (program ?? ClientNetwork(client.ip), arrived) }
}
