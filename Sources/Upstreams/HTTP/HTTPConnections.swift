import DNSWire
import Platform
import Scheduling

/// Connections to one address of a service: one that takes requests, or several when there are more requests than fit on
/// one, and those that are being retired. Each speaks what the server has chosen in its handshake.
@Loop
final class HTTPConnections {
    private let origin: HTTPOrigin
    private let loop: EventLoop
    private var connections: [HTTPConnection] = []
    /// The connection opened for a renewing request, until that request has ended.
    private var renewal: HTTPConnection?
    /// The TLS sessions to resume in the next handshake, by index into `origin.hosts`.
    var sessions: [Int: TLSSession] = [:]
    private let isSeparate: Bool
    /// Whether the server last spoke HTTP/2.
    private var isMultiplexed: Bool
    /// The most requests at once on a connection: the server's last limit, or ours.
    private(set) var streamLimit = 1

    /// - Parameter isSeparate: whether each is made for one request.
    init(_ origin: HTTPOrigin, isSeparate: Bool = false, loop: EventLoop) {
        self.origin = origin
        self.loop = loop
        self.isSeparate = isSeparate
        isMultiplexed = origin.scheme == .https
        learn(streamLimit: .max)
    }

    /// The number of open connections.
    var count: Int { connections.count }

    /// The most connections, beside one that replaces the others.
    private var mostConnections: Int {
        isSeparate
            ? HTTPLimits.separateConnections : isMultiplexed ? HTTPLimits.connections : HTTPLimits.unsharedRequests
    }

    /// The most requests at once on all connections.
    var capacity: Int { min(HTTPLimits.requests, streamLimit * mostConnections) }

    /// Whether a connection is idle, or may be opened.
    var hasRoom: Bool { connections.count { !$0.isIdle } < mostConnections }

    /// Sends a request on a connection under its name, which is opened if there is none.
    ///
    /// - Returns: the connection.
    /// - Throws: why the request cannot be sent, if that is known at once.
    func add(_ transfer: HTTPTransfer) throws(UpstreamFailure) -> HTTPConnection {
        // What broke one connection, or the fault of one, may be that of others: on one of its own a request finds out.
        let isAlone = transfer.isRenewing || isSeparate || streamLimit == 1 && transfer.isRepeated
        if !isAlone, let connection = usable(transfer.host) {
            try connection.add(transfer)
            return connection
        }
        if connections.count >= mostConnections, !transfer.isRenewing {
            let others = connections.filter { $0 !== renewal }
            (others.first { $0.isIdle || !$0.isUsable(at: loop.now) } ?? others.first)?.evict()
        }
        // A server may accept a session only once (RFC 8446 appendix C.4).
        let session = sessions.removeValue(forKey: transfer.host).flatMap { $0.isUsable(at: loop.now) ? $0 : nil }
        let connection = try HTTPConnection(
            origin, host: transfer.host, resuming: session, offering: transfer.isForHTTP1 ? .http1 : .http2, loop: loop
        ) { [self] in hear($1, of: $0) }
        connections.append(connection)
        if transfer.isRenewing, !isSeparate { renewal = connection }
        try connection.add(transfer)
        return connection
    }

    private func usable(_ host: Int) -> HTTPConnection? {
        let now = loop.now
        for connection in connections where connection !== renewal {
            if connection.isUsable(at: now) {
                if connection.host == host, connection.requests < streamLimit { return connection }
            } else {
                connection.closeIfIdle()
            }
        }
        return nil
    }

    /// Closes all connections.
    func evictAll() { for connection in connections { connection.evict() } }

    /// Retires all connections: none takes a further request.
    func retireAll() {
        for connection in connections where connection !== renewal { connection.retire() }
    }

    /// Ends the renewal: its connection replaces all others, or is retired.
    func endRenewal(isGood: Bool) {
        if isGood { retireAll() } else { renewal?.retire() }
        renewal = nil
    }

    /// Closes connections that have been idle for `time`.
    func closeIdle(for time: Duration) {
        let now = loop.now
        for connection in connections {
            if let since = connection.idleSince, now - since >= time { connection.closeIfIdle() }
        }
    }

    // MARK: From connections

    func hear(_ event: HTTPConnection.Event, of connection: HTTPConnection) {
        switch event {
        case .isReady(let isHTTP2): learn(isHTTP2: isHTTP2)
        case .allows(let limit): learn(streamLimit: limit)
        case .requestsEnded:
            // No more idle ones stay open than a few.
            guard connections.count > HTTPLimits.connections else { return }
            if connections.count(where: { $0.isIdle }) > HTTPLimits.connections { connection.closeIfIdle() }
        case .isClosed(let session):
            if let session { sessions[connection.host] = session }
            connections.removeAll { $0 === connection }
            if renewal === connection { renewal = nil }
        }
    }

    /// Learns what the server speaks: where several are behind one address, the last connection made decides.
    private func learn(isHTTP2: Bool) {
        guard isHTTP2 != isMultiplexed else { return }
        isMultiplexed = isHTTP2
        learn(streamLimit: .max)
    }

    /// Learns how many requests the server allows at once by HTTP/2.
    private func learn(streamLimit limit: UInt32) {
        streamLimit = isMultiplexed && !isSeparate ? max(1, min(HTTPLimits.streams, Int(limit))) : 1
    }
}
