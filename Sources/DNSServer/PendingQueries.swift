import DNSCache
import DNSResolver
import DNSWire
import Logs
import Platform
import Scheduling

/// The queries that wait for the resolver: each gets exactly one reply, in time.
@Loop
final class PendingQueries: Sendable {
    /// What a client is told, with SERVFAIL, when the resolver says nothing in time.
    private nonisolated static let late = ExtendedError(.noReachableAuthority, "no answer in time")

    private let responder: any QueryResponder
    private let clock: any LoopClock
    private let limits: ServerLimits
    private let feed: QueryFeed
    private let events: EventLog
    let outbox = ReplyOutbox()
    /// How many wait, in all.
    private(set) var count = 0
    /// How many have been told an answer since the start: anything but SERVFAIL.
    private(set) var answered = 0
    /// How many wait of each client address; loopback ones are not here.
    private var countByClient: [IPAddress: Int] = [:]
    /// The datagrams that wait.
    private var datagrams: Set<DatagramIdentity> = []
    /// How many wait that came over UDP.
    var datagramCount: Int { datagrams.count }
    /// Those who wait until nothing waits.
    private var drained: [CheckedContinuation<Void, Never>] = []

    init(responder: any QueryResponder, clock: any LoopClock, limits: ServerLimits, feed: QueryFeed, events: EventLog) {
        self.feed = feed
        self.events = events
        self.responder = responder
        self.clock = clock
        self.limits = limits
    }

    /// Takes a query that the cache could not answer; the reply goes out by `path`, now or later.
    ///
    /// The same datagram again (client, port, ID, question, and the address asked) is the same waiter, and changes
    /// nothing. Beyond a limit the reply is SERVFAIL at once.
    func add(_ message: [UInt8], from client: SocketAddress, path: ReplyPath, arrived: Instant) {
        guard let query = Query.read(message.span), query.fault == .noError,
            let asked = Question(query, in: message.span)
        else { return }
        let pending = PendingQuery(
            message: message, query: query, question: asked, client: client.ip, path: path, arrived: arrived, of: self)
        if case .datagram(let datagram) = path {
            let identity = DatagramIdentity(query, message, from: client, to: datagram)
            guard datagrams.insert(identity).inserted else { return }
            pending.identity = identity
        }
        guard hasRoom(for: pending.client) else {
            if let identity = pending.identity { datagrams.remove(identity) }
            return refuse(pending)
        }
        let question = ClientQuestion(
            question: asked, key: QueryKey(query, in: message.span),
            dnssecOK: query.dnssecOK, checkingDisabled: query.checkingDisabled, client: pending.client,
            hidesNetwork: query.hidesNetwork(in: message.span), arrived: arrived)
        begin(pending, question)
    }

    private func hasRoom(for client: IPAddress) -> Bool {
        count < limits.pending && (client.isLoopback || countByClient[client, default: 0] < limits.pendingPerClient)
    }

    private func refuse(_ pending: PendingQuery) {
        let ofAll = count >= limits.pending
        let text =
            ofAll
            ? "\(count) queries wait for an answer: clients are told SERVFAIL"
            : "\(limits.pendingPerClient) queries of \(pending.client) wait for an answer: more are told SERVFAIL"
        events.report(LogMessage(.limitQueries, about: ofAll ? "all" : "client", text))
        send(Response(.failure(.serverFailure), extendedError: QueryHandler.overloaded), to: pending)
    }

    private func send(_ response: Response, to pending: PendingQuery) {
        pending.reply(response, limits, outbox)
        if feed.isWanted { feed.tell(pending.answered(with: response, at: clock.now)) }
    }

    private func begin(_ pending: PendingQuery, _ question: ClientQuestion) {
        count += 1
        if !pending.client.isLoopback { countByClient[pending.client, default: 0] += 1 }
        // One object to hold is all that they need: for more, each would have an allocation of its own.
        pending.guardTimer = clock.schedule(at: question.arrived + limits.answer) {
            pending.queries.finish(pending, Response(.failure(.serverFailure), extendedError: Self.late))
        }
        responder.respond(to: question) { pending.queries.finish(pending, $0) }
    }

    /// Replies, unless that has been done.
    func finish(_ pending: PendingQuery, _ response: Response) {
        guard !pending.isFinished else { return }
        pending.isFinished = true
        pending.guardTimer.take()?.cancel()
        count -= 1
        if response.responseCode != .serverFailure { answered += 1 }
        if let identity = pending.identity { datagrams.remove(identity) }
        if let left = countByClient[pending.client] {
            countByClient[pending.client] = left > 1 ? left - 1 : nil
        }
        send(response, to: pending)
        if count == 0 { for waiter in drained.take() { waiter.resume() } }
    }

    /// Returns once nothing waits; each query waits no longer than its answer may take.
    func drain() async {
        outbox.flush()
        await withCheckedContinuation { continuation in
            if count == 0 { continuation.resume() } else { drained.append(continuation) }
        }
    }
}

extension Array {
    /// Moves the elements out.
    fileprivate mutating func take() -> Self {
        let elements = self
        self = []
        return elements
    }
}
