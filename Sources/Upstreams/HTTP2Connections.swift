import Platform
import Scheduling

/// The HTTP/2 connections to one address of a service: one that takes requests, and those that are just ending.
@Loop
final class HTTP2Connections {
    private let origin: HTTPOrigin
    private let loop: EventLoop
    private var connections: [HTTP2Connection] = []
    /// What to begin the next handshake with, by the name's place in the origin's list.
    private var sessions: [Int: TLSSession] = [:]

    init(_ origin: HTTPOrigin, loop: EventLoop) {
        self.origin = origin
        self.loop = loop
    }

    /// How many are open.
    var count: Int { connections.count }

    /// Sends a request on a connection under its name, which is made if there is none.
    ///
    /// - Throws: what keeps it from being sent, if that is known at once.
    func add(_ transfer: HTTPTransfer) throws(HTTPFailure) {
        if let connection = usable(transfer.host) { return try connection.add(transfer) }
        // Those that take no request any more end with their last one.
        if connections.count >= HTTPLimits.connections { connections.first?.evict() }
        let session = sessions[transfer.host].flatMap { $0.isUsable(at: loop.now) ? $0 : nil }
        let connection = try HTTP2Connection(
            origin, host: transfer.host, resuming: session, of: self, loop: loop)
        connections.append(connection)
        try connection.add(transfer)
    }

    private func usable(_ host: Int) -> HTTP2Connection? {
        let now = loop.now
        for connection in connections {
            if connection.isUsable(at: now) {
                if connection.host == host { return connection }
            } else {
                connection.closeIfIdle()
            }
        }
        return nil
    }

    /// Whether requests have got nothing for `limit` on one of them.
    func isAnySilent(for limit: Duration) -> Bool {
        let now = loop.now
        for connection in connections where connection.isSilent(for: limit, at: now) { return true }
        return false
    }

    /// Breaks those on which requests have got nothing for `limit`.
    func evictSilent(for limit: Duration) {
        let now = loop.now
        for connection in connections where connection.isSilent(for: limit, at: now) { connection.evict() }
    }

    /// Breaks all of them.
    func evictAll() { for connection in connections { connection.evict() } }

    /// Closes all of them without telling anybody.
    func abandonAll() { for connection in connections { connection.abandon() } }

    // MARK: From connections

    func remove(_ connection: HTTP2Connection) { connections.removeAll { $0 === connection } }

    /// Keeps what a connection's handshake left for the next one.
    func keep(_ tls: TLSChannel, for host: Int, verified: Instant) {
        guard let pointer = tls.resumable else { return }
        sessions[host] = TLSSession(
            owning: pointer, verified: tls.isResumed ? sessions[host]?.verified ?? verified : verified)
    }
}
