import DNSResolver
import DNSWire
import Platform

/// The open connections of one kind, such as plain or encrypted, of all its listeners, and their shared state.
@Loop
final class Connections {
    /// The most connections that are looked at for an idle one.
    private nonisolated static let longestSearch = 32

    let context: ConnectionContext
    /// What the log calls them.
    private let kind: String
    /// In whose share a client is.
    private let network: @Loop (SocketAddress) -> ClientNetwork
    private let events: EventLog
    private let memory: MemoryReturn
    private var open: [FairShare.Ticket: ServedConnection] = [:]
    /// The connections by client network; the one idle for longest is evicted first.
    private var holdings: FairShare
    /// All of them as if they were the daemon's own, the one idle for longest first.
    private var order = ShareLevel()
    /// The one that was used last; nil: it has closed.
    private var latest: FairShare.Ticket?
    /// Bytes buffered for all connections of the server.
    private let bytes: BufferedBytes
    /// Called when a connection has closed, so that a descriptor is free.
    private var closed: [@Loop () -> Void] = []
    private var drained: [CheckedContinuation<Void, Never>] = []

    init(
        _ kind: String, capacity: Int, loop: EventLoop, limits: ServerLimits, bytes: BufferedBytes, turns: TurnQueue,
        events: EventLog, memory: MemoryReturn,
        network: @escaping @Loop (SocketAddress) -> ClientNetwork = { ClientNetwork($0.ip) }
    ) {
        self.kind = kind
        context = ConnectionContext(loop: loop, limits: limits, turns: turns)
        self.bytes = bytes
        self.events = events
        self.memory = memory
        self.network = network
        holdings = FairShare(capacity: capacity)
        bytes.add { [weak self] in self?.holders ?? [] }
    }

    var loop: EventLoop { context.loop }

    /// Bytes buffered for all connections of the server.
    var buffered: Int { bytes.count }

    /// The number of open connections.
    var count: Int { open.count }

    /// How many may be open.
    var capacity: Int { holdings.capacity }

    /// Admits a new connection.
    ///
    /// At the limit of open connections, one of the client network with the most connections is closed for it, the one
    /// idle for longest. Where that is the new client's own network, only a connection that `yields` is closed; without one,
    /// the new connection is closed. A network that has no connection gets the place of any other that has been idle for
    /// `ServerLimits.rest`. Over plain TCP all clients that may not be answered are one network.
    ///
    /// - Returns: the connection, unless it was closed.
    @discardableResult
    func admit<Connection: ServedConnection>(
        _ descriptor: consuming Descriptor, from peer: SocketAddress, _ make: (StreamSocket) -> Connection
    ) -> Connection? {
        guard !holdings.isFull || makeRoom(for: network(peer)) else { return nil }
        let connection = make(StreamSocket(descriptor))
        return add(connection) ? connection : nil
    }

    /// Starts a connection. Returns whether it has not closed.
    func add(_ connection: ServedConnection) -> Bool {
        enter(connection)
        guard connection.start() else { return false }
        if count >= MemoryReturn.connections { memory.burst() }
        return true
    }

    private func enter(_ connection: ServedConnection) {
        let ticket = holdings.add(for: network(connection.client.address))
        put(connection, at: ticket)
        order.add(ticket, for: .daemon)
        latest = ticket
    }

    private func put(_ connection: ServedConnection, at ticket: FairShare.Ticket) {
        connection.ticket = ticket
        open[ticket] = connection
        connection.tell = { [self] in hear($1, of: $0) }
    }

    private func hear(_ event: ServedConnection.Event, of connection: ServedConnection) {
        switch event {
        case .isUsed: used(connection)
        case .isIdentified: identified(connection)
        case .holds(let change): bytes.book(change, of: connection)
        case .isFollowed(let next): replace(connection, by: next)
        case .isClosed(let socket?):
            replace(connection, by: EndingConnection(socket, client: connection.client, in: context))
        case .isClosed(nil): remove(connection)
        }
    }

    private func leave(_ ticket: FairShare.Ticket) {
        holdings.remove(ticket)
        order.remove(ticket)
        if latest == ticket { latest = nil }
    }

    /// Puts a connection in the place of another, and starts it.
    private func replace(_ connection: ServedConnection, by next: ServedConnection) {
        guard let ticket = connection.ticket.take() else { return next.close() }
        connection.tell = nil
        put(next, at: ticket)
        used(next)
        _ = next.start()
    }

    /// Stops all connections, for another process to go on with them.
    ///
    /// - Parameter limit: how many it takes; those with something to do come first, the others are closed.
    func handOver(_ limit: Int, unanswered: [(path: ReplyPath, message: [UInt8])]) -> [UnfinishedWork.Connection] {
        var messages: [ObjectIdentifier: [[UInt8]]] = [:]
        for query in unanswered {
            guard case .connection(_, let connection?, _) = query.path else { continue }
            messages[connection, default: []].append(query.message)
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
        let other = holdings.yielding(to: network) { open[$0]?.yields == true }
        let leaving = other.flatMap { open[$0] } ?? idlest(of: network) ?? resting(for: network)
        let closes = leaving != nil
        let most = holdings.largest.map { ": \($0.count) from \($0.network)" } ?? ""
        let what = closes ? "the one idle for longest is closed for a new one" : "a new one is closed"
        events.report(
            .limitConnections, about: "all", "\(holdings.count) \(kind) connections are open\(most); \(what)")
        if closes { leaving?.close() }
        return closes
    }

    /// The connection of a network that is idle for longest; nil where none that was looked at yields.
    private func idlest(of network: ClientNetwork) -> ServedConnection? {
        var next = holdings.first(of: network)
        for _ in 0..<Self.longestSearch {
            guard let ticket = next else { return nil }
            if let connection = open[ticket], connection.yields { return connection }
            next = holdings.next(after: ticket)
        }
        return nil
    }

    /// The connection that has been idle for longest, and for so long that it yields to a network that has none.
    private func resting(for network: ClientNetwork) -> ServedConnection? {
        guard holdings.held(by: network) == 0 else { return nil }
        var next = order.first(of: .daemon)
        for _ in 0..<Self.longestSearch {
            guard let ticket = next, let connection = open[ticket],
                loop.now - connection.lastActivity >= context.limits.rest
            else { return nil }
            if connection.yields { return connection }
            next = order.next(after: ticket)
        }
        return nil
    }

    /// Puts a connection among those of its client, which is another one now.
    private func identified(_ connection: ServedConnection) {
        guard let ticket = connection.ticket else { return }
        leave(ticket)
        open[ticket] = nil
        enter(connection)
    }

    private func used(_ connection: ServedConnection) {
        guard let ticket = connection.ticket, ticket != latest else { return }
        holdings.renew(ticket)
        order.renew(ticket)
        latest = ticket
    }

    /// Removes a connection that has closed.
    private func remove(_ connection: ServedConnection) {
        guard let ticket = connection.ticket.take(), open.removeValue(forKey: ticket) != nil else { return }
        connection.tell = nil
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

    /// The connections, each with the client network in whose share it is.
    var holders: [(network: ClientNetwork, connection: ServedConnection)] {
        open.compactMap { ticket, connection in holdings.holder(of: ticket).map { ($0, connection) } }
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

/// The bytes of unfinished queries and unsent responses that the connections of a server hold together, plain and encrypted
/// ones, shared by client network.
///
/// A network alone may hold all of them. When they exceed the limit, the network that holds most loses the connection that
/// holds most of it; so none loses one because of others that hold more.
@Loop
final class BufferedBytes {
    private(set) var count = 0
    /// How many bytes all connections may hold.
    private let limit: Int
    /// What each table of connections has, with the client network in whose share it is.
    private var tables: [@Loop () -> [(network: ClientNetwork, connection: ServedConnection)]] = []

    init(limit: Int) { self.limit = limit }

    /// Has the connections of a table share them.
    func add(_ table: @escaping @Loop () -> [(network: ClientNetwork, connection: ServedConnection)]) {
        tables.append(table)
    }

    /// Adds a change in what a connection holds. If that is too much for all, others are closed, or it is itself.
    func book(_ change: Int, of connection: ServedConnection) {
        count += change
        while change > 0, count > limit, !connection.isClosed { largest(after: connection).close() }
    }

    /// Of the network that holds most the connection that holds most; among equals the one that has booked last.
    ///
    /// Looks at all connections: each that is closed then held at least its part of the limit.
    private func largest(after last: ServedConnection) -> ServedConnection {
        var shares: [ClientNetwork: (sum: Int, largest: ServedConnection)] = [:]
        var own: ClientNetwork?
        for (network, connection) in tables.flatMap({ $0() }) where connection.held > 0 {
            let share = shares[network] ?? (0, connection)
            let isLarger = (connection.held, connection === last ? 1 : 0) > (share.largest.held, 0)
            shares[network] = (share.sum + connection.held, isLarger ? connection : share.largest)
            if connection === last { own = network }
        }
        let most = shares.max { ($0.value.sum, $0.key == own ? 1 : 0) < ($1.value.sum, $1.key == own ? 1 : 0) }
        return most?.value.largest ?? last
    }
}
