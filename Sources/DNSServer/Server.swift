package import DNSCache
package import DNSResolver
package import DNSWire
package import Platform
package import Scheduling

/// The DNS server: UDP threads that answer from the cache, TCP connections on the loop, and the queries that wait for
/// the resolver.
@Loop
package final class Server: Sendable {
    private let loop: EventLoop
    private let limits: ServerLimits
    private let handler: QueryHandler
    private let pending: PendingQueries
    let connections: Connections
    /// Those over TLS and HTTPS.
    let encrypted: Connections
    /// What is served over HTTPS.
    package let site: HTTPSite
    /// What is served in plain HTTP.
    package let plainSite: HTTPSite
    /// The terms of encrypted connections; without a certificate they are closed.
    package nonisolated let tls = TLSTerms()
    private let queries: ConnectionQueries
    private let misses: Mailbox<MissedQuery>
    private let intake: QueryIntake
    nonisolated let refusals: RefusalLimit
    private let events: EventLog
    private nonisolated let rules: SharedClientRules
    /// Passes on the answered queries; off by default.
    package nonisolated let feed: QueryFeed
    private var listeners: [Listener]
    private var threads: [UDPThread]
    /// Of the responses that the loop sends, and of all threads since the start.
    private let counters = ResponseCounters()
    private let allCounters: [ResponseCounters]
    /// Of the answers that the loop gives, and of the hits of all threads since the start.
    private let times = AnswerTimes()
    private let hitTimes: [LatencyHistogram]
    /// How many threads may still post misses.
    private var posting = 0
    /// Nil once the server has stopped.
    private var sockets: ServerSockets?
    /// The listen addresses, with the actual ports.
    package let addresses: [SocketAddress]
    /// Those at which DNS is served encrypted, with the actual ports.
    package nonisolated let encryptedAddresses: [(transport: Transport, address: SocketAddress)]
    /// Those at which HTTPDNS is served in plain http, with the actual ports.
    package let httpAddresses: [SocketAddress]
    /// Those whose sockets were passed to this process.
    package let adopted: [SocketAddress]

    /// - Parameters:
    ///   - sockets: from `ServerSockets.bind`; the server closes them.
    ///   - responder: asked for what the cache cannot answer.
    ///   - httpsPath: the path of DNS over HTTPS.
    ///   - dnstap: has all queries and responses, if any; made for the producers that `sockets` has.
    package init(
        sockets: ServerSockets, loop: EventLoop, cache: MemoryCache, generation: PolicyGeneration,
        rules: SharedClientRules, responder: any QueryResponder, limits: ServerLimits = ServerLimits(),
        httpsPath: String = "/dns-query", dnstap: Dnstap? = nil, events: EventLog
    ) {
        self.loop = loop
        self.limits = limits
        handler = QueryHandler(cache: cache, generation: generation, rules: rules, keepalive: limits.keepalive)
        self.events = events
        self.rules = rules
        rules.refused.report(to: events, clock: loop) {
            "client \($0) is not in listen.allow and gets REFUSED (\($1) queries refused since the start)"
        }
        rules.limited.report(to: events, clock: loop) {
            "client \($0) asks faster than listen.udp_rate without a cookie, and is directed to TCP (\($1) queries since the start)"
        }
        let feed = QueryFeed(on: loop, dnstap: dnstap)
        self.feed = feed
        let memory = MemoryReturn(clock: loop)
        let pending = PendingQueries(
            responder: responder, clock: loop, limits: limits, feed: feed, events: events, memory: memory,
            counters: counters, times: times, rules: rules)
        self.pending = pending
        refusals = RefusalLimit(limits.refusals)
        misses = Mailbox(capacity: limits.mailbox, on: loop, sharedBy: \.origin)
        intake = QueryIntake(misses, pending: pending, responder: responder, clock: loop, limits: limits)
        let bytes = BufferedBytes(limit: limits.buffered)
        let turns = TurnQueue(
            on: loop, perTurn: limits.intake, capacity: limits.connections + limits.encryptedConnections)
        let queries = ConnectionQueries(
            handler, pending: pending, turns: turns, feed: feed, counters: counters, times: times, loop: loop)
        self.queries = queries
        let site = HTTPSite(
            .init(path: Array(httpsPath.utf8), queries: queries, rules: rules), events: events, clock: loop)
        self.site = site
        let plainSite = HTTPSite(nil, events: events, clock: loop)
        self.plainSite = plainSite
        // Over TLS a client may still show a certificate or a token.
        let plain = Connections(
            "TCP", capacity: limits.connections, loop: loop, limits: limits, bytes: bytes, turns: turns,
            events: events, memory: memory
        ) { queries.allows($0.ip) ? ClientNetwork($0.ip) : .strangers }
        connections = plain
        let encrypted = Connections(
            "encrypted", capacity: limits.encryptedConnections, loop: loop, limits: limits, bytes: bytes,
            turns: turns, events: events, memory: memory)
        self.encrypted = encrypted
        let handshakes = TurnQueue(
            on: loop, perTurn: TLSHandshake.stepsPerTurn, capacity: limits.encryptedConnections)
        let terms = tls
        func listen(
            at sockets: [ListeningSocket], for table: Connections,
            _ make: @escaping @Loop (consuming Descriptor, SocketAddress) -> ServedConnection
        ) -> [Listener] {
            sockets.map { socket in
                Listener(socket, of: table, events: events) { descriptor, peer in
                    table.admit(descriptor, from: peer) { make($0, peer) }
                }
            }
        }
        func listenEncrypted(
            at sockets: [ListeningSocket], over transport: Transport,
            _ make: @escaping @Loop (TLSStream, ConnectionClient) -> ServedConnection
        ) -> [Listener] {
            listen(at: sockets, for: encrypted) {
                TLSHandshake(
                    $0, client: .init(address: $1, transport: transport), terms: terms, queue: handshakes,
                    in: encrypted, then: make)
            }
        }
        listeners =
            listen(at: sockets.tcp, for: plain) {
                TCPConnection(StreamSocket($0), client: .init(address: $1, transport: .tcp), queries, in: plain)
            }
            + listen(at: sockets.http, for: plain) {
                HTTPServerConnection(
                    StreamSocket($0), client: .init(address: $1, transport: .tcp), alpn: nil, at: plainSite, in: plain)
            }
            + listenEncrypted(at: sockets.tls, over: .tls) {
                TCPConnection($0, client: $1, queries, in: encrypted)
            }
            + listenEncrypted(at: sockets.https, over: .https) {
                HTTPServerConnection($0, client: $1, alpn: $0.alpn, at: site, in: encrypted)
            }
        threads = sockets.udp.flatMap { sockets in
            sockets.receivers.map { UDPThread($0, lateReplies: sockets.sender) }
        }
        allCounters = [counters] + threads.map(\.counters)
        hitTimes = threads.map(\.hitTimes)
        addresses = sockets.addresses
        encryptedAddresses = sockets.encrypted
        httpAddresses = sockets.httpAddresses
        transports = [.udp, .tcp] + Set(sockets.encrypted.map(\.transport)).sorted { $0.rawValue > $1.rawValue }
        adopted = sockets.adopted
        self.sockets = sockets
    }

    /// What is served.
    private let transports: [Transport]

    /// The responses since the start.
    package var responses: [ResponseCount] { ResponseCounters.sum(allCounters, of: transports) }

    /// How long the answers of a kind took since the start, from query to response.
    package func latencies(_ kind: AnswerKind) -> LatencyHistogram.Total {
        kind == .cache ? hitTimes.reduce(times.total(kind)) { $0 + $1.total } : times.total(kind)
    }

    /// Queries refused since the start, by the reason.
    package var refusedQueries: RefusedQueries {
        let counts = refusals.counts
        return RefusedQueries(
            access: rules.refused.count, overload: counts.refused - counts.dropped, dropped: counts.dropped,
            queue: pending.displaced)
    }

    /// The program of this machine of which most queries wait, where it has more than any other client, and how many.
    package var busiestProgram: (network: ClientNetwork, count: Int)? { pending.busiestProgram }

    /// The number of queries that wait for the resolver, and of open TCP and encrypted connections.
    package var load: (queries: Int, connections: Int, encrypted: Int) {
        (pending.count, connections.count, encrypted.count)
    }

    /// Begins to answer.
    ///
    /// - Throws: when a thread cannot be started; nothing is served then.
    package func start() throws(SystemError) {
        intake.begin(reporting: refusals, to: events)
        NamedThread.allowInterrupts()
        do {
            for listener in listeners { try listener.start() }
            for (index, thread) in threads.enumerated() {
                try thread.start(
                    "udp-\(index)", handler: handler, misses: misses, refusals: refusals, feed: feed,
                    producer: index
                ) { [self] in
                    Loop.spawn { [self] in threadDrained() }
                }
                posting += 1
            }
        } catch {
            for listener in listeners { listener.stop() }
            for thread in threads { thread.stop() }
            throw error
        }
        if let work = sockets?.work { resume(work) }
        sockets?.work = UnfinishedWork()
    }

    /// Whether every UDP thread has come round since the last call, at the first since the start; begins another probe of
    /// each.
    package func probeThreads() -> Bool { threads.count { !$0.probe() } == 0 }

    /// Stops in two phases: takes no new work, waits for what is outstanding, at most 2.5 s, and closes all sockets.
    /// Hits are answered over UDP until then.
    ///
    /// The caller must have released the `ServerSockets` for the ports to be free afterwards.
    package func stop() async {
        let deadline = loop.now + limits.drain
        // Closed before anything is waited for: a client that is refused asks another server.
        for listener in listeners { listener.stop() }
        listeners = []
        sockets = nil
        for thread in threads { thread.drain() }
        await threadsDrain()
        // Further turns of the loop receive what the threads posted last.
        repeat { await loop.sleep(until: loop.now) } while !misses.isEmpty && loop.now < deadline
        for table in [connections, encrypted] { table.finish() }
        await pending.drain()
        let timer = loop.schedule(at: deadline) { [connections, encrypted] in
            for table in [connections, encrypted] { table.closeAll() }
        }
        for table in [connections, encrypted] { await table.drain() }
        timer.cancel()
        for thread in threads { thread.stop() }
        for thread in threads { thread.join() }
        threads = []
    }

    private func threadDrained() { posting -= 1 }

    /// Returns once no thread posts misses any more.
    private func threadsDrain() async {
        while posting > 0 {
            for thread in threads { thread.interrupt() }
            await loop.sleep(until: loop.now + .milliseconds(1))
        }
    }

    // MARK: Questions in other forms

    /// Whether a client is on the access list.
    package func admits(_ client: IPAddress) -> Bool { rules.access.allows(client) }

    /// Counts and reports a client that is refused since it is not on the access list.
    package func refuse(_ client: IPAddress) { rules.refused.add(client) }

    /// Answers a query that a client has sent in another form, by the rules of those over TCP or HTTPS.
    ///
    /// - Parameters:
    ///   - client: the client that is answered, and whose network counts.
    ///   - isTrusted: whether it is answered whatever `listen.allow` says.
    ///   - isEncrypted: whether it came over HTTPS.
    ///   - reply: called once, perhaps before this returns, with the response in wire format; with nil for what is no
    ///     query.
    package func answer(
        _ message: [UInt8], from client: SocketAddress, isTrusted: Bool, isEncrypted: Bool,
        reply: @escaping @Loop ([UInt8]?) -> Void
    ) {
        let client = ConnectionClient(
            address: client, transport: isEncrypted ? .https : .tcp, isTrusted: isTrusted)
        let (response, isPending) = queries.handle(message, of: client)
        guard isPending else { return reply(response) }
        queries.ask(message, of: client, for: ReplyClosure(client.transport, reply))
    }

    // MARK: Another process

    /// The descriptors of its sockets, while it serves.
    package var descriptors: [(kind: PassedKind, numbers: [Int32])] { sockets?.descriptors ?? [] }

    /// Stops at once, for another process to go on with the sockets and with what is returned: what the kernel has queued
    /// stays there, and what was read and not answered is in the work.
    ///
    /// - Parameter connections: how many TCP connections the other process takes.
    package func handOver(connections limit: Int) async -> UnfinishedWork {
        for listener in listeners { listener.stop() }
        for thread in threads { thread.leave() }
        await threadsDrain()
        for thread in threads { thread.join() }
        threads = []
        listeners = []
        var unanswered = pending.takeAll().map { (path: $0.path, message: $0.repeated, arrived: $0.arrived) }
        unanswered += misses.take().map { (.datagram($0.path), $0.message, $0.arrived) }
        var work = UnfinishedWork()
        work.connections = connections.handOver(limit, unanswered: unanswered.map { ($0.path, $0.message) })
        // Over HTTP/2 clients learn that what they send from now on is not handled.
        encrypted.finish()
        encrypted.closeAll()
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

    /// Admits a connection for DNS over TCP.
    @discardableResult
    func admit(_ descriptor: consuming Descriptor, from peer: SocketAddress) -> TCPConnection? {
        connections.admit(descriptor, from: peer) {
            TCPConnection(StreamSocket($0), client: .init(address: peer, transport: .tcp), queries, in: connections)
        }
    }

    /// Goes on with what another process did not finish.
    private func resume(_ work: UnfinishedWork) {
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
            admit(descriptor, from: connection.peer)?.resume(input: connection.input, output: connection.output)
        }
    }
}

/// The destination of the response to a query that came in another form.
private final class ReplyClosure: ReplySink {
    let transport: Transport
    private let body: @Loop ([UInt8]?) -> Void

    init(_ transport: Transport, _ body: @escaping @Loop ([UInt8]?) -> Void) {
        self.transport = transport
        self.body = body
    }

    func send(_ reply: [UInt8]) { body(reply) }
}
