import DNSResolver
public import DNSWire
public import Platform

/// A service over HTTP/1.1 on a socket of its own, with connections of its own beside those of DNS.
@Loop
public final class HTTPServer {
    /// The most connections at once, fewer where few descriptors may be open: for a further one the one that has been idle
    /// for longest is closed, if any is.
    public nonisolated static let connections = 64
    /// Bytes of a request's header: browsers send to a port of this machine the cookies of all its others.
    private nonisolated static let header = 32 << 10
    /// Requests handled in a turn of the loop, of all connections: a page of metrics takes 0.6 ms.
    private nonisolated static let perTurn = 4

    private let listener: Listener
    private let connections: Connections

    /// Begins to serve; `kind` is what the log calls its connections.
    public init(
        _ kind: String, on socket: ListeningSocket, service: any HTTPService, loop: EventLoop, events: EventLog
    ) throws(SystemError) {
        let limits = ServerLimits()
        // Of the descriptors sources of answers need most.
        let capacity = max(1, min(Self.connections, DescriptorLimit.current / 8))
        let connections = Connections(
            kind, capacity: capacity, loop: loop, limits: limits, bytes: BufferedBytes(limit: limits.buffered),
            turns: TurnQueue(on: loop, perTurn: Self.perTurn, capacity: capacity), events: events,
            memory: MemoryReturn(clock: loop))
        let site = HTTPSite(nil, header: Self.header, events: events, clock: loop)
        site.service = service
        self.connections = connections
        listener = Listener(socket, of: connections, events: events) { descriptor, peer in
            connections.admit(descriptor, from: peer) {
                HTTPServerConnection(
                    $0, client: .init(address: peer, transport: .tcp), alpn: nil, at: site, in: connections.context)
            }
        }
        try listener.start()
    }

    /// Closes the socket and every connection but those whose request is being answered; these afterwards. A second call
    /// does nothing.
    public func stop() {
        listener.stop()
        connections.finish()
    }
}
