import DNSResolver
import DNSWire
import Logs
import Platform
import Scheduling

/// The open TCP connections of all listeners, and what they share.
@Loop
final class TCPConnections: Sendable {
    /// Bytes taken from a connection by one system call.
    private nonisolated static let readSize = 16 << 10

    let loop: EventLoop
    let limits: ServerLimits
    private let pending: PendingQueries
    private let intake: QueryIntake
    private let feed: QueryFeed
    private var handler: QueryHandler
    private let events: EventLog
    private let memory: MemoryReturn
    private var open: [FairShare.Ticket: TCPConnection] = [:]
    /// Which client networks have them; the connection idle for longest gives way first.
    private var holdings: FairShare
    /// Bytes that all connections hold.
    private(set) var buffered = 0
    /// Where every connection reads to first.
    private var scratch = [UInt8](repeating: 0, count: TCPConnections.readSize)
    /// Called when a connection has closed: a descriptor is free.
    private var closed: [@Loop () -> Void] = []
    private var drained: [CheckedContinuation<Void, Never>] = []

    init(
        loop: EventLoop, limits: ServerLimits, handler: QueryHandler, pending: PendingQueries, intake: QueryIntake,
        feed: QueryFeed, events: EventLog, memory: MemoryReturn
    ) {
        self.memory = memory
        self.events = events
        holdings = FairShare(capacity: limits.connections)
        self.intake = intake
        self.feed = feed
        self.loop = loop
        self.limits = limits
        self.handler = handler
        self.pending = pending
    }

    /// How many are open.
    var count: Int { open.count }

    /// The clients of those that are open.
    var peers: [SocketAddress] { open.values.map(\.peer) }

    /// How many queries of each may wait for the resolver now.
    var share: Int { intake.share(of: count) }

    /// Takes a new connection.
    ///
    /// When as many are open as may be, one of the client network that has most is closed for it, the one idle for longest;
    /// where that is the newcomer's own network, only one with no query outstanding: else the newcomer is closed.
    func admit(_ descriptor: consuming Descriptor, from peer: SocketAddress) {
        let network = ClientNetwork(peer.ip)
        guard !holdings.isFull || makeRoom(for: network) else { return }
        let connection = TCPConnection(StreamSocket(descriptor), peer: peer, in: self)
        guard connection.start() else { return }
        let ticket = holdings.add(for: network)
        connection.ticket = ticket
        open[ticket] = connection
        if count >= MemoryReturn.connections { memory.burst() }
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

    /// A query came by the connection, or a reply to one is ready.
    func used(_ connection: TCPConnection) { if let ticket = connection.ticket { holdings.renew(ticket) } }

    /// Forgets a connection that has closed.
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

    /// Calls `body` whenever a connection has closed.
    func onClose(_ body: @escaping @Loop () -> Void) { closed.append(body) }

    /// Books more or fewer bytes held by one connection. Returns whether all together are within the limit.
    func book(_ change: Int) -> Bool {
        buffered += change
        return buffered <= limits.buffered
    }

    /// Reads from a socket; what came is in the slice.
    func read(_ socket: StreamSocket) -> (StreamSocket.Outcome, ArraySlice<UInt8>) {
        let outcome = socket.read(into: &scratch)
        guard case .moved(let count) = outcome else { return (outcome, []) }
        return (outcome, scratch[..<count])
    }

    /// Answers a message, or asks the resolver.
    ///
    /// - Returns: the reply; nil with `isPending` when it comes later, without when there is none.
    func handle(_ message: [UInt8], of connection: TCPConnection) -> (reply: [UInt8]?, isPending: Bool) {
        var disposition = QueryHandler.Disposition.ignore
        if handler.isOutdated { handler = handler.updated }
        let reply = [UInt8](capacity: MessageBuilder.maximumLength) { output in
            disposition = handler.handle(
                message.span, from: connection.peer.ip, over: .tcp, now: loop.now, into: &output)
        }
        switch disposition {
        case .reply:
            if feed.isWanted { tell(of: message, reply, connection.peer.ip) }
            return (reply, false)
        case .ignore: return (nil, false)
        case .miss: return (nil, true)
        }
    }

    private func tell(of message: [UInt8], _ reply: [UInt8], _ client: IPAddress) {
        let answered = AnsweredQuery(
            message.span, reply: reply.span, client: client, transport: .tcp, took: .zero)
        if let answered { feed.tell(answered) }
    }

    /// Asks the resolver; the reply comes by `connection.send`, perhaps at once.
    func ask(_ message: [UInt8], of connection: TCPConnection) {
        pending.add(message, from: connection.peer, path: .connection(connection), arrived: loop.now)
    }

    /// Reads from no connection any more; each closes when its last reply was taken.
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
