import DNSResolver
import DNSWire
import Logs
import Platform
import Scheduling

/// The open connections of one kind, plain or encrypted, of all listeners, and their shared state.
@Loop
final class Connections: ConnectionOwner {
    /// Bytes read from a connection by one system call.
    private nonisolated static let readSize = TLSStream.plaintext
    /// The most connections that are looked at for an idle one.
    private nonisolated static let longestSearch = 32

    let loop: EventLoop
    let limits: ServerLimits
    let site: HTTPSite
    /// What the log calls them.
    private let kind: String
    private let misses: Mailbox<MissedQuery>
    private let refusals: RefusalLimit
    private let feed: QueryFeed
    private let counters: ResponseCounters
    private let times: AnswerTimes
    private var handler: QueryHandler
    private let events: EventLog
    private let memory: MemoryReturn
    private var open: [FairShare.Ticket: any ServedConnection] = [:]
    /// The connections by client network; the one idle for longest is evicted first.
    private var holdings: FairShare
    /// All of them, the one idle for longest first.
    private var order = UseOrder()
    /// Bytes buffered for all connections of the server.
    private let bytes: BufferedBytes
    /// The buffer that every connection reads into first.
    private var scratch = [UInt8](repeating: 0, count: Connections.readSize)
    /// Nil for plain ones.
    private let handshakes: (terms: TLSTerms, queue: HandshakeQueue)?
    /// Called when a connection has closed, so that a descriptor is free.
    private var closed: [@Loop () -> Void] = []
    private var drained: [CheckedContinuation<Void, Never>] = []

    /// - Parameters:
    ///   - kind: what the log calls them.
    ///   - capacity: how many may be open.
    ///   - terms: of encrypted ones; nil for plain ones.
    init(
        _ kind: String, capacity: Int, terms: TLSTerms? = nil, loop: EventLoop, limits: ServerLimits,
        bytes: BufferedBytes, site: HTTPSite, handler: QueryHandler, misses: Mailbox<MissedQuery>,
        refusals: RefusalLimit, feed: QueryFeed, events: EventLog,
        memory: MemoryReturn, counters: ResponseCounters, times: AnswerTimes
    ) {
        self.kind = kind
        handshakes = terms.map { ($0, HandshakeQueue(on: loop, capacity: capacity)) }
        self.bytes = bytes
        self.site = site
        self.counters = counters
        self.times = times
        self.memory = memory
        self.events = events
        holdings = FairShare(capacity: capacity)
        self.misses = misses
        self.refusals = refusals
        self.feed = feed
        self.loop = loop
        self.limits = limits
        self.handler = handler
    }

    /// Bytes buffered for all connections of the server.
    var buffered: Int { bytes.count }

    /// The number of open connections.
    var count: Int { open.count }

    /// The clients of the open connections.
    var peers: [SocketAddress] { open.values.map(\.client.address) }

    /// Admits a new connection.
    ///
    /// At the limit of open connections, one of the client network with the most connections is closed for it, the one
    /// idle for longest. Where that is the new client's own network, only a connection with no query outstanding is
    /// closed; without one, the new connection is closed. A network that has no connection gets the place of any other that
    /// has been idle for `ServerLimits.rest`. Over plain TCP all clients that may not be answered are one network.
    ///
    /// - Returns: the connection, unless it was closed.
    @discardableResult
    func admit(_ descriptor: consuming Descriptor, from peer: SocketAddress) -> TCPConnection? {
        guard hasRoom(for: peer) else { return nil }
        let client = ConnectionClient(address: peer, transport: .tcp)
        let connection = TCPConnection(StreamSocket(descriptor), client: client, in: self)
        return add(connection) ? connection : nil
    }

    /// Admits a new connection that speaks HTTP in plain text, by the same rule.
    func admitHTTP(_ descriptor: consuming Descriptor, from peer: SocketAddress) {
        guard hasRoom(for: peer) else { return }
        let client = ConnectionClient(address: peer, transport: .tcp)
        _ = add(HTTPSConnection(StreamSocket(descriptor), client: client, alpn: nil, in: self))
    }

    /// Admits a new connection to an encrypted listener, by the same rule.
    func admit(_ descriptor: consuming Descriptor, from peer: SocketAddress, over transport: Transport) {
        guard let (terms, queue) = handshakes, hasRoom(for: peer) else { return }
        let client = ConnectionClient(address: peer, transport: transport)
        _ = add(TLSHandshake(descriptor, client: client, terms: terms, queue: queue, in: self))
    }

    /// Whether there is a place for one more connection, of which another may lose its own.
    private func hasRoom(for peer: SocketAddress) -> Bool {
        !holdings.isFull || makeRoom(for: network(of: peer))
    }

    /// In whose share a client is. What comes encrypted may still show a certificate or a token.
    private func network(of client: SocketAddress) -> ClientNetwork {
        if handler.isOutdated { handler = handler.updated }
        return handshakes != nil || handler.allows(client.ip) ? ClientNetwork(client.ip) : .strangers
    }

    /// Starts a connection. Returns whether it has not closed.
    func add(_ connection: any ServedConnection) -> Bool {
        enter(connection)
        guard connection.start() else {
            remove(connection)
            return false
        }
        if count >= MemoryReturn.connections { memory.burst() }
        return true
    }

    private func enter(_ connection: any ServedConnection) {
        let ticket = holdings.add(for: network(of: connection.client.address))
        connection.ticket = ticket
        open[ticket] = connection
        order.add(ticket)
    }

    private func leave(_ ticket: FairShare.Ticket) {
        holdings.remove(ticket)
        order.remove(ticket)
    }

    func replace(_ connection: any ServedConnection, by next: any ServedConnection) {
        guard let ticket = connection.ticket.take() else { return next.close() }
        next.ticket = ticket
        open[ticket] = next
        used(next)
        if !next.start() { remove(next) }
    }

    /// Stops all connections, for another process to go on with them.
    ///
    /// - Parameters:
    ///   - limit: how many it takes; those with something to do come first, the others are closed.
    ///   - unanswered: the queries that wait for the loop or the resolver, each with where its response goes.
    func handOver(_ limit: Int, unanswered: [(path: ReplyPath, message: [UInt8])]) -> [UnfinishedWork.Connection] {
        var messages: [ObjectIdentifier: [[UInt8]]] = [:]
        for query in unanswered {
            guard case .connection(let sink) = query.path else { continue }
            messages[ObjectIdentifier(sink), default: []].append(query.message)
        }
        let plain = open.values.compactMap { $0 as? TCPConnection }
        let connections = plain.filter { !$0.isIdle } + plain.filter(\.isIdle)
        let handed = connections.prefix(max(0, limit)).compactMap {
            $0.handOver(unanswered: messages[ObjectIdentifier($0), default: []])
        }
        closeAll()
        return handed
    }

    private func makeRoom(for network: ClientNetwork) -> Bool {
        let other = holdings.yielding(to: network) { open[$0]?.isIdle == true }
        let leaving = other.flatMap { open[$0] } ?? idlest(of: network) ?? resting(for: network)
        let closes = leaving != nil
        let most = holdings.largest.map { ": \($0.count) from \($0.network)" } ?? ""
        let what = closes ? "the one idle for longest is closed for a new one" : "a new one is closed"
        events.report(
            LogMessage(
                .limitConnections, about: "all", "\(holdings.count) \(kind) connections are open\(most); \(what)"))
        if closes { leaving?.close() }
        return closes
    }

    /// The connection of a network that is idle for longest; nil where all that were looked at have a query.
    private func idlest(of network: ClientNetwork) -> (any ServedConnection)? {
        var next = holdings.first(of: network)
        for _ in 0..<Self.longestSearch {
            guard let ticket = next else { return nil }
            if let connection = open[ticket], connection.isIdle { return connection }
            next = holdings.next(after: ticket)
        }
        return nil
    }

    /// The connection that has been idle for longest, and for so long that it yields to a network that has none.
    private func resting(for network: ClientNetwork) -> (any ServedConnection)? {
        guard holdings.held(by: network) == 0 else { return nil }
        var next = order.first
        for _ in 0..<Self.longestSearch {
            guard let ticket = next, let connection = open[ticket],
                loop.now - connection.lastActivity >= limits.rest
            else { return nil }
            if connection.isIdle { return connection }
            next = order.next(after: ticket)
        }
        return nil
    }

    func identified(_ connection: any ServedConnection) {
        guard let ticket = connection.ticket else { return }
        leave(ticket)
        open[ticket] = nil
        enter(connection)
    }

    func used(_ connection: any ServedConnection) {
        // The one used last of all is also the last of its network.
        guard let ticket = connection.ticket, order.last != ticket else { return }
        holdings.renew(ticket)
        order.renew(ticket)
    }

    func remove(_ connection: any ServedConnection) {
        guard let ticket = connection.ticket.take(), open.removeValue(forKey: ticket) != nil else { return }
        leave(ticket)
        for body in closed { body() }
        guard open.isEmpty else { return }
        memory.emptied()
        let waiters = drained
        drained = []
        for waiter in waiters { waiter.resume() }
    }

    /// Registers `body` to be called whenever a connection has closed.
    func onClose(_ body: @escaping @Loop () -> Void) { closed.append(body) }

    func book(_ change: Int) -> Bool {
        bytes.count += change
        return bytes.count <= limits.buffered
    }

    func read(_ stream: any ByteStream) -> (StreamOutcome, ArraySlice<UInt8>) {
        let outcome = stream.read(into: &scratch)
        guard case .moved(let count) = outcome else { return (outcome, []) }
        return (outcome, scratch[..<count])
    }

    func handle(_ message: [UInt8], of client: ConnectionClient) -> (reply: [UInt8]?, isPending: Bool) {
        var disposition = QueryHandler.Disposition.ignore
        if handler.isOutdated { handler = handler.updated }
        let began = Instant.bootTime
        let isPadded = client.transport.isEncrypted && Query.read(message.span)?.wantsPadding(in: message.span) == true
        let reply = ReplyBuffer.compose(isPadded: isPadded) { output in
            disposition = handler.handle(
                message.span, from: client.address.ip, isTrusted: client.isTrusted, over: client.transport,
                now: loop.now, into: &output)
        }
        switch disposition {
        case .reply:
            if reply.count >= Header.length {
                let row = ResponseCounters.Row(client.transport, isIPv6: client.address.family == .ipv6)
                let answers = counters.answers(of: row)
                counters.add(reply[3], to: row)
                if counters.answers(of: row) > answers { times.add(.cache, from: began, to: .bootTime) }
            }
            if feed.isWanted { tell(of: message, reply, client) }
            return (reply, false)
        case .ignore: return (nil, false)
        case .miss:
            if feed.isWanted {
                feed.add(
                    query: message, response: nil, from: client.address, client.transport, arrived: loop.now)
            }
            return (nil, true)
        }
    }

    private func tell(of message: [UInt8], _ reply: [UInt8], _ client: ConnectionClient) {
        feed.add(query: message, response: reply, from: client.address, client.transport, arrived: loop.now)
        guard feed.isHandled else { return }
        let answered = AnsweredQuery(
            message.span, reply: reply.span, client: client.address.ip, transport: client.transport, took: .zero)
        if let answered { feed.tell(answered) }
    }

    func ask(_ message: [UInt8], of client: ConnectionClient, for sink: any ReplySink) {
        let query = MissedQuery(
            message: message, client: client.address, path: .connection(sink), arrived: loop.now)
        guard !misses.post(query) else { return }
        refusals.refuseOverTCP()
        let reply = ReplyBuffer.compose(isPadded: false) { output in
            _ = handler.reject(
                message.span, with: .serverFailure, error: ExtendedError.overloaded, over: client.transport,
                into: &output)
        }
        sink.send(reply)
        guard feed.isWanted else { return }
        feed.add(response: reply[...], to: client.address, client.transport, arrived: query.arrived)
    }

    /// Stops reading from all connections; each closes when its last response was received.
    func finish() { for connection in Array(open.values) { connection.finish() } }

    /// Returns once no connection is open.
    func drain() async {
        await withCheckedContinuation { continuation in
            if open.isEmpty { continuation.resume() } else { drained.append(continuation) }
        }
    }

    /// Closes all connections at once.
    func closeAll() { for connection in Array(open.values) { connection.close() } }
}

/// The bytes that the connections of a server hold together.
@Loop
final class BufferedBytes: Sendable {
    var count = 0
}
