import DNSResolver
import DNSWire
import Logs
import Platform
import Scheduling

/// The open TCP connections of all listeners, and their shared state.
@Loop
final class TCPConnections: TCPConnectionOwner {
    /// Bytes read from a connection by one system call.
    private nonisolated static let readSize = 16 << 10

    let loop: EventLoop
    let limits: ServerLimits
    private let misses: Mailbox<MissedQuery>
    private let refusals: RefusalLimit
    private let feed: QueryFeed
    private let counters: ResponseCounters
    private let times: AnswerTimes
    private var handler: QueryHandler
    private let events: EventLog
    private let memory: MemoryReturn
    private var open: [FairShare.Ticket: TCPConnection] = [:]
    /// The connections by client network; the one idle for longest is evicted first.
    private var holdings: FairShare
    /// Bytes buffered for all connections.
    private(set) var buffered = 0
    /// The buffer that every connection reads into first.
    private var scratch = [UInt8](repeating: 0, count: TCPConnections.readSize)
    /// Called when a connection has closed, so that a descriptor is free.
    private var closed: [@Loop () -> Void] = []
    private var drained: [CheckedContinuation<Void, Never>] = []

    init(
        loop: EventLoop, limits: ServerLimits, handler: QueryHandler, misses: Mailbox<MissedQuery>,
        refusals: RefusalLimit, feed: QueryFeed, events: EventLog, memory: MemoryReturn, counters: ResponseCounters,
        times: AnswerTimes
    ) {
        self.counters = counters
        self.times = times
        self.memory = memory
        self.events = events
        holdings = FairShare(capacity: limits.connections)
        self.misses = misses
        self.refusals = refusals
        self.feed = feed
        self.loop = loop
        self.limits = limits
        self.handler = handler
    }

    /// The number of open connections.
    var count: Int { open.count }

    /// The clients of the open connections.
    var peers: [SocketAddress] { open.values.map(\.peer) }

    /// Admits a new connection.
    ///
    /// At the limit of open connections, one of the client network with the most connections is closed for it, the one
    /// idle for longest. Where that is the new client's own network, only a connection with no query outstanding is
    /// closed; without one, the new connection is closed.
    ///
    /// - Returns: the connection, unless it was closed.
    @discardableResult
    func admit(_ descriptor: consuming Descriptor, from peer: SocketAddress) -> TCPConnection? {
        let network = ClientNetwork(peer.ip)
        guard !holdings.isFull || makeRoom(for: network) else { return nil }
        let connection = TCPConnection(StreamSocket(descriptor), peer: peer, in: self)
        guard connection.start() else { return nil }
        let ticket = holdings.add(for: network)
        connection.ticket = ticket
        open[ticket] = connection
        if count >= MemoryReturn.connections { memory.burst() }
        return connection
    }

    /// Stops all connections, for another process to go on with them.
    ///
    /// - Parameters:
    ///   - limit: how many it takes; those with something to do come first, the others are closed.
    ///   - unanswered: the queries that wait for the loop or the resolver, each with where its response goes.
    func handOver(_ limit: Int, unanswered: [(path: ReplyPath, message: [UInt8])]) -> [UnfinishedWork.Connection] {
        var messages: [ObjectIdentifier: [[UInt8]]] = [:]
        for query in unanswered {
            guard case .connection(let connection) = query.path else { continue }
            messages[ObjectIdentifier(connection), default: []].append(query.message)
        }
        let connections = open.values.filter { !$0.isIdle } + open.values.filter(\.isIdle)
        let handed = connections.prefix(max(0, limit)).compactMap {
            $0.handOver(unanswered: messages[ObjectIdentifier($0), default: []])
        }
        closeAll()
        return handed
    }

    private func makeRoom(for network: ClientNetwork) -> Bool {
        let other = holdings.yielding(to: network)
        let leaving = (other ?? holdings.first(of: network)).flatMap { open[$0] }
        let closes = other != nil || leaving?.isIdle == true
        let most = holdings.largest.map { ": \($0.count) from \($0.network)" } ?? ""
        let what = closes ? "the one idle for longest is closed for a new one" : "a new one is closed"
        events.report(
            LogMessage(.limitConnections, about: "all", "\(holdings.count) TCP connections are open\(most); \(what)"))
        if closes { leaving?.close() }
        return closes
    }

    func used(_ connection: TCPConnection) { if let ticket = connection.ticket { holdings.renew(ticket) } }

    func remove(_ connection: TCPConnection) {
        guard let ticket = connection.ticket.take(), open.removeValue(forKey: ticket) != nil else { return }
        holdings.remove(ticket)
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
        buffered += change
        return buffered <= limits.buffered
    }

    func read(_ socket: StreamSocket) -> (StreamSocket.Outcome, ArraySlice<UInt8>) {
        let outcome = socket.read(into: &scratch)
        guard case .moved(let count) = outcome else { return (outcome, []) }
        return (outcome, scratch[..<count])
    }

    func handle(_ message: [UInt8], of connection: TCPConnection) -> (reply: [UInt8]?, isPending: Bool) {
        var disposition = QueryHandler.Disposition.ignore
        if handler.isOutdated { handler = handler.updated }
        let began = Instant.bootTime
        let reply = [UInt8](capacity: MessageBuilder.maximumLength) { output in
            disposition = handler.handle(
                message.span, from: connection.peer.ip, over: .tcp, now: loop.now, into: &output)
        }
        switch disposition {
        case .reply:
            if reply.count >= Header.length {
                let row = ResponseCounters.Row(.tcp, isIPv6: connection.peer.ip.recordType == .aaaa)
                let answers = counters.answers(of: row)
                counters.add(reply[3], to: row)
                if counters.answers(of: row) > answers { times.add(.memory, from: began, to: .bootTime) }
            }
            if feed.isWanted { tell(of: message, reply, connection.peer) }
            return (reply, false)
        case .ignore: return (nil, false)
        case .miss:
            if feed.isWanted { feed.add(query: message, response: nil, from: connection.peer, arrived: loop.now) }
            return (nil, true)
        }
    }

    private func tell(of message: [UInt8], _ reply: [UInt8], _ client: SocketAddress) {
        feed.add(query: message, response: reply, from: client, arrived: loop.now)
        guard feed.isHandled else { return }
        let answered = AnsweredQuery(
            message.span, reply: reply.span, client: client.ip, transport: .tcp, took: .zero)
        if let answered { feed.tell(answered) }
    }

    func ask(_ message: [UInt8], of connection: TCPConnection) {
        let query = MissedQuery(
            message: message, client: connection.peer, path: .connection(connection), arrived: loop.now)
        guard !misses.post(query) else { return }
        refusals.refuseOverTCP()
        let reply = [UInt8](capacity: MessageBuilder.maximumLength) { output in
            _ = handler.reject(
                message.span, with: .serverFailure, error: QueryHandler.overloaded, over: .tcp, into: &output)
        }
        connection.send(reply)
        if feed.isWanted { feed.add(response: reply[...], to: connection.peer, .tcp, arrived: query.arrived) }
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
