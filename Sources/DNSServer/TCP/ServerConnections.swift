import DNSWire
import Platform

/// What a server serves over connections: the listeners, and the tables of the connections that these accept.
@Loop
final class ServerConnections {
    let plain: Connections
    /// Those over TLS and HTTPS.
    let encrypted: Connections
    private let queries: ConnectionQueries
    private var listeners: [Listener] = []

    /// - Parameters:
    ///   - site: what is served over HTTPS.
    ///   - plainSite: what is served in plain HTTP.
    init(
        _ sockets: ServerSockets, asking queries: ConnectionQueries, at site: HTTPSite, _ plainSite: HTTPSite,
        by terms: TLSTerms, turns: TurnQueue, loop: EventLoop, limits: ServerLimits, events: EventLog,
        memory: MemoryReturn
    ) {
        self.queries = queries
        let bytes = BufferedBytes(limit: limits.buffered)
        // Over TLS a client may still show a certificate or a token.
        let plain = Connections(
            "TCP", capacity: limits.connections, loop: loop, limits: limits, bytes: bytes, turns: turns,
            events: events, memory: memory
        ) { queries.allows($0.ip) ? ClientNetwork($0.ip) : .strangers }
        let encrypted = Connections(
            "encrypted", capacity: limits.encryptedConnections, loop: loop, limits: limits, bytes: bytes,
            turns: turns, events: events, memory: memory)
        (self.plain, self.encrypted) = (plain, encrypted)
        let handshakes = TurnQueue(
            on: loop, perTurn: TLSHandshake.stepsPerTurn, capacity: limits.encryptedConnections)
        func listen(
            at sockets: [ListeningSocket], for table: Connections,
            _ make: @escaping @Loop (StreamSocket, SocketAddress) -> ServedConnection
        ) {
            listeners += sockets.map { socket in
                Listener(socket, of: table, events: events) { descriptor, peer in
                    table.admit(descriptor, from: peer) { make($0, peer) }
                }
            }
        }
        func listenEncrypted(
            at sockets: [ListeningSocket], over transport: Transport,
            _ make: @escaping @Loop (TLSStream, ConnectionClient) -> ServedConnection
        ) {
            listen(at: sockets, for: encrypted) {
                TLSHandshake(
                    $0, client: .init(address: $1, transport: transport), terms: terms, queue: handshakes,
                    in: encrypted.context, then: make)
            }
        }
        listen(at: sockets.tcp, for: plain) {
            TCPConnection($0, client: .init(address: $1, transport: .tcp), queries, in: plain.context)
        }
        listen(at: sockets.http, for: plain) {
            HTTPServerConnection(
                $0, client: .init(address: $1, transport: .tcp), alpn: nil, at: plainSite, in: plain.context)
        }
        listenEncrypted(at: sockets.tls, over: .tls) { TCPConnection($0, client: $1, queries, in: encrypted.context) }
        listenEncrypted(at: sockets.https, over: .https) {
            HTTPServerConnection($0, client: $1, alpn: $0.alpn, at: site, in: encrypted.context)
        }
    }

    /// Begins to accept.
    func start() throws(SystemError) { for listener in listeners { try listener.start() } }

    /// Accepts no more, and closes the listening sockets.
    func stopListening() {
        for listener in listeners { listener.stop() }
        listeners = []
    }

    /// Stops reading; each closes when its last response was received.
    func finish() { for table in [plain, encrypted] { table.finish() } }

    /// Closes all at once.
    func closeAll() { for table in [plain, encrypted] { table.closeAll() } }

    /// Returns once none is open.
    func drain() async { for table in [plain, encrypted] { await table.drain() } }

    /// Admits a connection for DNS over TCP.
    @discardableResult
    func admit(_ descriptor: consuming Descriptor, from peer: SocketAddress) -> TCPConnection? {
        plain.admit(descriptor, from: peer) {
            TCPConnection($0, client: .init(address: peer, transport: .tcp), queries, in: plain.context)
        }
    }

    /// Stops all, for another process to go on with those over TCP: `limit` at most.
    ///
    /// - Parameter unanswered: the queries that wait for the loop or the resolver, each with where its response goes.
    func handOver(_ limit: Int, unanswered: [(path: ReplyPath, message: [UInt8])]) -> [UnfinishedWork.Connection] {
        let handed = plain.handOver(limit, unanswered: unanswered)
        // Over HTTP/2 clients learn that what they send from now on is not handled.
        encrypted.finish()
        encrypted.closeAll()
        return handed
    }
}
