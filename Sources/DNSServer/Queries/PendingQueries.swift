import DNSCache
import DNSResolver
import DNSWire
import Platform

/// The queries that wait for the resolver: each gets exactly one response, in time.
@Loop
final class PendingQueries {
    /// Returned with SERVFAIL when the resolver does not answer in time.
    private nonisolated static let late = ExtendedError(.noReachableAuthority, "no answer in time")

    /// The number of slots that stay allocated when nothing waits.
    private nonisolated static let retained = 64

    private let responder: any QueryResponder
    private let clock: any LoopClock
    private let limits: ServerLimits
    private let feed: QueryFeed
    private let counters: ResponseCounters
    /// How long the responses took from the query, by the kind of the answer.
    private let times: [LatencyHistogram]
    private let events: EventLog
    private let memory: MemoryReturn
    private let rules: SharedClientRules?
    let outbox: ReplyOutbox
    /// The waiting queries by client network; the one that has waited longest is displaced first.
    private var holdings: FairShare
    /// The waiting queries, indexed by their tickets.
    private var waiting: [PendingQuery?] = []
    private let localClients: LocalClients
    /// The program of this machine of which most queries wait, where it has more than any other client, and how many.
    var busiestProgram: (network: ClientNetwork, count: Int)? {
        holdings.largest.flatMap { $0.network.program == nil ? nil : $0 }
    }
    /// The number of waiting queries.
    var count: Int { holdings.count }
    /// Those of them over UDP that began a short time ago: the others wait for their sources, and take no time of the loop.
    private var recent: RecentCount
    /// Queries that got SERVFAIL since the start because too many waited.
    private(set) var displaced = 0
    /// The identities of the waiting datagrams.
    private var datagrams: Set<DatagramIdentity> = []
    /// Continuations resumed when no query waits.
    private var drained: [CheckedContinuation<Void, Never>] = []

    init(
        responder: any QueryResponder, clock: any LoopClock, limits: ServerLimits, outbox: ReplyOutbox, feed: QueryFeed,
        events: EventLog, memory: MemoryReturn, counters: ResponseCounters = ResponseCounters(),
        times: [LatencyHistogram] = AnswerKind.allCases.map { _ in LatencyHistogram() },
        rules: SharedClientRules? = nil
    ) {
        self.rules = rules
        self.counters = counters
        self.times = times
        self.memory = memory
        self.feed = feed
        self.outbox = outbox
        self.events = events
        self.responder = responder
        self.clock = clock
        self.limits = limits
        holdings = FairShare(capacity: limits.pending)
        localClients = LocalClients(crowd: limits.crowd, longestWait: limits.answer)
        recent = RecentCount(span: limits.interval)
    }

    /// How many of the waiting queries over UDP have waited for less than about `ServerLimits.interval`. Called in every turn in
    /// which queries are added.
    func recentCount(at now: Instant) -> Int {
        recent.advance(to: now)
        return recent.count
    }

    /// Takes a query that the cache could not answer; the response goes out by `path`, now or later.
    ///
    /// A retransmission of the same datagram (client, port, ID, question, and the destination address) changes nothing.
    /// At the limit of waiting queries, one query of the client network with the most gets SERVFAIL at once: the one
    /// that has waited longest, or, if that is the new query's own network, the new one.
    ///
    /// - Parameter program: the program of this machine that asks, where it is known already.
    func add(
        _ message: [UInt8], from client: SocketAddress, _ program: ClientNetwork? = nil, path: ReplyPath,
        arrived: Instant
    ) {
        guard let query = Query.read(message.span), query.fault == .noError,
            let asked = Question(query, in: message.span)
        else { return }
        let pending = PendingQuery(
            message: message, query: query, question: asked, client: client, path: path, arrived: arrived
        ) { [self] in finish($0, $1) }
        if query.hasCookie { pending.cookie = rules?.cookie(of: query, in: message.span, from: client.ip)?.cookie }
        if case .datagram(let datagram) = path {
            let identity = DatagramIdentity(query, message, retained: pending.message, from: client, to: datagram)
            guard datagrams.insert(identity).inserted else { return }
            pending.identity = identity
        }
        let network =
            program
            ?? localClients.network(of: client, by: path, at: clock.now) { responder.isNearBrake(asked, of: $0) }
        pending.network = network
        guard !holdings.isFull || makeRoom(for: network) else {
            if let identity = pending.identity { datagrams.remove(identity) }
            return send(Response(.failure(.serverFailure), extendedError: ExtendedError.overloaded), to: pending)
        }
        add(pending, for: network)
        let question = ClientQuestion(
            question: asked, dnssecOK: query.dnssecOK, checkingDisabled: query.checkingDisabled, client: client.ip,
            network: network, hidesNetwork: query.hidesNetwork(in: message.span), arrived: arrived)
        begin(pending, question)
    }

    private func makeRoom(for network: ClientNetwork) -> Bool {
        let most =
            holdings.largest.map { ", \($0.count) of them from \($0.network), which gets SERVFAIL for more" } ?? ""
        displaced += 1
        events.report(.limitQueries, about: "all", "\(count) queries wait for an answer\(most)")
        guard let ticket = holdings.yielding(to: network), let leaving = waiting[ticket] else { return false }
        finish(leaving, Response(.failure(.serverFailure), extendedError: ExtendedError.overloaded))
        return true
    }

    private func add(_ pending: PendingQuery, for network: ClientNetwork) {
        let ticket = holdings.add(for: network)
        pending.ticket = ticket
        localClients.count(1, of: pending.client)
        if pending.identity != nil { pending.recent = recent.add() }
        while waiting.count <= ticket { waiting.append(nil) }
        waiting[ticket] = pending
        if count >= MemoryReturn.queries { memory.burst() }
    }

    private func remove(_ pending: PendingQuery) {
        guard let ticket = pending.ticket.take() else { return }
        holdings.remove(ticket)
        localClients.count(-1, of: pending.client)
        if let number = pending.recent { recent.remove(number) }
        waiting[ticket] = nil
        guard count == 0 else { return }
        if waiting.count > Self.retained { (waiting, datagrams) = ([], []) }
        memory.emptied()
    }

    private func send(_ response: Response, to pending: PendingQuery) {
        let reply = pending.reply(response, limits, outbox)
        counters.add(
            UInt8(truncatingIfNeeded: response.responseCode.rawValue),
            to: .init(pending.path.transport, isIPv6: pending.client.family == .ipv6))
        times[response.kind.rawValue].add(from: pending.arrived, to: clock.now)
        guard feed.isWanted else { return }
        feed.add(response: reply, to: pending.client, pending.path.transport, arrived: pending.arrived)
        feed.tell(pending.answered(with: response, at: clock.now))
    }

    private func begin(_ pending: PendingQuery, _ question: ClientQuestion) {
        // The closures capture one object each, which needs no allocation; more captures would.
        pending.guardTimer = clock.schedule(at: question.arrived + limits.answer) {
            pending.finish(Response(.failure(.serverFailure), extendedError: Self.late))
        }
        responder.respond(to: question) { pending.finish($0) }
    }

    /// Sends the response, unless one has been sent.
    private func finish(_ pending: PendingQuery, _ response: Response) {
        guard pending.end() else { return }
        remove(pending)
        if let identity = pending.identity { datagrams.remove(identity) }
        send(response, to: pending)
        guard count == 0 else { return }
        let waiters = drained
        drained = []
        for waiter in waiters { waiter.resume() }
    }

    /// Takes out all waiting queries without a response: another process will answer them.
    func takeAll() -> [PendingQuery] {
        outbox.flush()
        let taken = waiting.compactMap(\.self)
        for pending in taken where pending.end() { remove(pending) }
        return taken
    }

    /// Returns once nothing waits; each query waits no longer than its time limit.
    func drain() async {
        outbox.flush()
        await withCheckedContinuation { continuation in
            if count == 0 { continuation.resume() } else { drained.append(continuation) }
        }
    }
}

/// Counts the queries that began to wait a short time ago and still do.
///
/// Counted are two spans of time, the present one and the one before it: exact would be a list of all, which the count is
/// not worth.
struct RecentCount {
    /// The length of a span: a query counts for at least this long, and for less than twice that.
    let span: Duration
    private var began = Instant(nanoseconds: 0)
    /// The number of the present span, which the queries of it carry.
    private var current = 0
    private var inCurrent = 0
    private var inEarlier = 0

    init(span: Duration) {
        self.span = span
    }

    /// How many began in the present span or the one before it, as of the last `advance`.
    var count: Int { inCurrent + inEarlier }

    /// Begins another span if the present one is over.
    mutating func advance(to now: Instant) {
        guard now - began >= span else { return }
        (inEarlier, inCurrent) = (now - began < span * 2 ? inCurrent : 0, 0)
        current += now - began < span * 2 ? 1 : 2
        began = now
    }

    /// Adds one that begins; returns the number with which it is removed.
    mutating func add() -> Int {
        inCurrent += 1
        return current
    }

    /// Removes one that ends.
    mutating func remove(_ number: Int) {
        if number == current { inCurrent -= 1 } else if number == current - 1 { inEarlier -= 1 }
    }
}

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
