public import DNSCache
public import DNSResolver
public import DNSWire
public import Platform

/// The DNS server: UDP threads that answer from the cache, TCP connections on the loop, and the queries that wait for
/// the resolver.
@Loop
public final class Server: Sendable {
    private let loop: EventLoop
    private let limits: ServerLimits
    private let handler: QueryHandler
    private let pending: PendingQueries
    let serving: ServerConnections
    /// What is served over HTTPS.
    public let site: HTTPSite
    /// What is served in plain HTTP.
    public let plainSite: HTTPSite
    /// The terms of encrypted connections; without a certificate they are closed.
    public nonisolated let tls = TLSTerms()
    private let queries: ConnectionQueries
    private let misses: Mailbox<MissedQuery>
    private let intake: QueryIntake
    nonisolated let refusals: RefusalLimit
    private let events: EventLog
    private nonisolated let rules: SharedClientRules
    /// Passes on the answered queries; off by default.
    public nonisolated let feed: QueryFeed
    private var threads: [UDPThread]
    /// Of the responses that the loop sends, and of all threads since the start.
    private let counters = ResponseCounters()
    private let allCounters: [ResponseCounters]
    /// Of the answers that the loop gives, by their kind, and of the hits of all threads since the start.
    private let times = AnswerKind.allCases.map { _ in LatencyHistogram() }
    private let hitTimes: [LatencyHistogram]
    /// How many threads may still post misses.
    private var posting = 0
    /// Nil once the server has stopped.
    private var sockets: ServerSockets?
    /// The listen addresses, with the actual ports.
    public let addresses: [SocketAddress]
    /// Those at which DNS is served encrypted, with the actual ports.
    public nonisolated let encryptedAddresses: [(transport: Transport, address: SocketAddress)]
    /// Those at which HTTPDNS is served in plain http, with the actual ports.
    public let httpAddresses: [SocketAddress]
    /// Those whose sockets were passed to this process.
    public let adopted: [SocketAddress]

    /// - Parameters:
    ///   - sockets: from `ServerSockets.bind`; the server closes them.
    ///   - responder: asked for what the cache cannot answer.
    ///   - dnstap: has all queries and responses, if any; made for the producers that `sockets` has.
    public init(
        sockets: ServerSockets, loop: EventLoop, cache: MemoryCache, generation: PolicyGeneration,
        rules: SharedClientRules, responder: any QueryResponder, limits: ServerLimits = ServerLimits(),
        httpsPath: String = "/dns-query", dnstap: Dnstap? = nil, events: EventLog
    ) {
        self.loop = loop
        self.limits = limits
        handler = QueryHandler(cache: cache, generation: generation, rules: rules, keepalive: limits.keepalive)
        self.events = events
        self.rules = rules
        rules.report(to: events)
        feed = QueryFeed(on: loop, dnstap: dnstap)
        let memory = MemoryReturn(clock: loop)
        pending = PendingQueries(
            responder: responder, clock: loop, limits: limits, outbox: ReplyOutbox(on: loop), feed: feed,
            events: events, memory: memory, counters: counters, times: times, rules: rules)
        refusals = RefusalLimit(limits.refusals)
        misses = Mailbox(capacity: limits.mailbox, on: loop, sharedBy: \.origin)
        intake = QueryIntake(misses, pending: pending, responder: responder, clock: loop, limits: limits)
        let turns = TurnQueue(
            on: loop, perTurn: limits.intake, capacity: limits.connections + limits.encryptedConnections)
        queries = ConnectionQueries(
            handler, pending: pending, turns: turns, feed: feed, counters: counters, times: times, loop: loop)
        site = HTTPSite(
            .init(path: Array(httpsPath.utf8), queries: queries, rules: rules), events: events, clock: loop)
        plainSite = HTTPSite(nil, events: events, clock: loop)
        serving = ServerConnections(
            sockets, asking: queries, at: site, plainSite, by: tls, turns: turns, loop: loop, limits: limits,
            events: events, memory: memory)
        threads = sockets.udp.flatMap { sockets in
            sockets.receivers.map { UDPThread($0, lateReplies: sockets.sender) }
        }
        allCounters = [counters] + threads.map(\.counters)
        hitTimes = threads.map(\.hitTimes)
        addresses = sockets.addresses
        encryptedAddresses = sockets.encrypted
        httpAddresses = sockets.httpAddresses
        adopted = sockets.adopted
        self.sockets = sockets
    }

    /// The responses since the start.
    public var responses: [ResponseCount] {
        let encrypted = Set(encryptedAddresses.map(\.transport)).sorted { $0.rawValue > $1.rawValue }
        return ResponseCounters.sum(allCounters, of: [.udp, .tcp] + encrypted)
    }

    /// How long the answers of a kind took since the start, from query to response.
    public func latencies(_ kind: AnswerKind) -> LatencyHistogram.Total {
        (kind == .cache ? hitTimes : []).reduce(times[kind.rawValue].total) { $0 + $1.total }
    }

    /// Queries refused since the start: those whose clients are not on the access list; those of which more came over UDP than
    /// the loop could take, with SERVFAIL or without a response; and those of which too many waited for an answer.
    public var refusedQueries: (access: Int, overload: Int, dropped: Int, queue: Int) {
        let counts = refusals.counts
        return (rules.refused.count, counts.refused - counts.dropped, counts.dropped, pending.displaced)
    }

    /// The program of this machine of which most queries wait, where it has more than any other client, and how many.
    public var busiestProgram: (network: ClientNetwork, count: Int)? { pending.busiestProgram }

    /// The number of queries that wait for the resolver, and of open TCP and encrypted connections.
    public var load: (queries: Int, connections: Int, encrypted: Int) {
        (pending.count, serving.plain.count, serving.encrypted.count)
    }

    /// Begins to answer.
    ///
    /// - Throws: when a thread cannot be started; nothing is served then.
    public func start() throws(SystemError) {
        intake.begin(reporting: refusals, to: events)
        NamedThread.allowInterrupts()
        do {
            try serving.start()
            for (index, thread) in threads.enumerated() {
                try thread.start(
                    "udp-\(index)", handler: handler, misses: misses, refusals: refusals, feed: feed,
                    producer: index
                ) { [self] in
                    Loop.spawn { [self] in posting -= 1 }
                }
                posting += 1
            }
        } catch {
            serving.stopListening()
            for thread in threads { thread.enter(.ending) }
            throw error
        }
        if let work = sockets?.work { resume(work) }
        sockets?.work = UnfinishedWork()
    }

    /// Whether every UDP thread has come round since the last call, at the first since the start; begins another probe of
    /// each.
    public func probeThreads() -> Bool { threads.count { !$0.probe() } == 0 }

    /// Stops in two phases: takes no new work, waits for what is outstanding, at most 2.5 s, and closes all sockets.
    /// Hits are answered over UDP until then.
    ///
    /// The caller must have released the `ServerSockets` for the ports to be free afterwards.
    public func stop() async {
        let deadline = loop.now + limits.drain
        // Closed before anything is waited for: a client that is refused asks another server.
        serving.stopListening()
        sockets = nil
        for thread in threads { thread.enter(.draining) }
        await threadsDrain()
        // Further turns of the loop receive what the threads posted last.
        repeat { await loop.sleep(until: loop.now) } while !misses.isEmpty && loop.now < deadline
        serving.finish()
        await pending.drain()
        let timer = loop.schedule(at: deadline) { [serving] in serving.closeAll() }
        await serving.drain()
        timer.cancel()
        for thread in threads { thread.enter(.ending) }
        for thread in threads { thread.join() }
        threads = []
    }

    /// Returns once no thread posts misses any more.
    private func threadsDrain() async {
        while posting > 0 {
            for thread in threads { thread.interrupt() }
            await loop.sleep(until: loop.now + .milliseconds(1))
        }
    }

    // MARK: Questions in other forms

    /// Whether a client is on the access list.
    public func admits(_ client: IPAddress) -> Bool { rules.access.allows(client) }

    /// Counts and reports a client that is refused since it is not on the access list.
    public func refuse(_ client: IPAddress) { rules.refused.add(client, at: loop.now) }

    /// Answers a query that a client has sent in another form, by the rules of those over TCP or HTTPS.
    ///
    /// - Parameters:
    ///   - client: the client that is answered, and whose network counts.
    ///   - isTrusted: whether it is answered whatever `listen.allow` says.
    ///   - isEncrypted: whether it came over HTTPS.
    ///   - reply: called once, perhaps before this returns, with the response in wire format; with nil for what is no
    ///     query.
    public func answer(
        _ message: [UInt8], from client: SocketAddress, isTrusted: Bool, isEncrypted: Bool,
        reply: @escaping @Loop ([UInt8]?) -> Void
    ) {
        let client = ConnectionClient(
            address: client, transport: isEncrypted ? .https : .tcp, isTrusted: isTrusted)
        let (response, isPending) = queries.handle(message, of: client)
        guard isPending else { return reply(response) }
        queries.ask(message, of: client) { reply($0) }
    }

    // MARK: Another process

    /// The descriptors of its sockets, while it serves.
    public var descriptors: [(kind: PassedKind, numbers: [Int32])] { sockets?.descriptors ?? [] }

    /// Stops at once, for another process to go on with the sockets and with what is returned: what the kernel has queued
    /// stays there, and what was read and not answered is in the work.
    ///
    /// - Parameter connections: how many TCP connections the other process takes.
    public func handOver(connections limit: Int) async -> UnfinishedWork {
        serving.stopListening()
        for thread in threads { thread.enter(.leaving) }
        await threadsDrain()
        for thread in threads { thread.join() }
        threads = []
        var unanswered = pending.takeAll().map { (path: $0.path, message: $0.repeated, arrived: $0.arrived) }
        unanswered += misses.take().map { (.datagram($0.path), $0.message, $0.arrived) }
        var work = UnfinishedWork()
        work.connections = serving.handOver(limit, unanswered: unanswered.map { ($0.path, $0.message) })
        let now = loop.now
        for query in unanswered {
            guard case .datagram(let path) = query.path else { continue }
            work.datagrams.append(
                .init(
                    server: path.socket.address, origin: path.origin, waited: now - query.arrived,
                    message: query.message))
        }
        return work
    }

    /// Takes the service over from another process, which has served by the same sockets until now.
    public func takeOver() {
        for udp in sockets?.udp ?? [] where udp.sender !== udp.receivers.first { udp.spread() }
    }

    /// Goes on with what another process did not finish.
    public func resume(_ work: UnfinishedWork) {
        for datagram in work.datagrams {
            guard let client = datagram.client,
                let sender = sockets?.udp.first(where: { $0.sender.address == datagram.server })?.sender
            else { continue }
            pending.add(
                datagram.message, from: client,
                path: .datagram(DatagramPath(socket: sender, origin: datagram.origin)),
                arrived: loop.now - datagram.waited)
        }
        for connection in work.connections {
            guard let descriptor = connection.socket.take() else { continue }
            serving.admit(descriptor, from: connection.peer)?.resume(input: connection.input, output: connection.output)
        }
    }
}
