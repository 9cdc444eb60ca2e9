import Platform
import Scheduling

/// The HTTP/2 connections to one address of a service: one that takes requests, or several where they are more at once
/// than fit on one, and those that are just ending.
@Loop
final class HTTP2Connections {
    private let origin: HTTPOrigin
    private let loop: EventLoop
    private var connections: [HTTP2Connection] = []
    /// The one that was opened for a request that asked for that, until it is known how that request has ended.
    private var renewal: HTTP2Connection?
    /// What to begin the next handshake with, by the name's place in the origin's list.
    private var sessions: [Int: TLSSession] = [:]
    /// How many requests a connection has at once: what the server last allowed, as far as we want so many.
    private(set) var streamLimit = HTTPLimits.streams

    init(_ origin: HTTPOrigin, loop: EventLoop) {
        self.origin = origin
        self.loop = loop
    }

    /// How many are open.
    var count: Int { connections.count }

    /// How many requests there may be at once on all of them.
    var capacity: Int { min(HTTPLimits.requests, streamLimit * HTTPLimits.connections) }

    /// Sends a request on a connection under its name, which is made if there is none.
    ///
    /// - Throws: what keeps it from being sent, if that is known at once.
    func add(_ transfer: HTTPTransfer) throws(HTTPFailure) {
        if !transfer.isRenewing, let connection = usable(transfer.host) { return try connection.add(transfer) }
        if connections.count >= HTTPLimits.connections {
            let others = connections.filter { $0 !== renewal }
            (others.first { !$0.isUsable(at: loop.now) } ?? others.first)?.evict()
        }
        // A server may take a session up only once (RFC 8446 appendix C.4).
        let session = sessions.removeValue(forKey: transfer.host).flatMap { $0.isUsable(at: loop.now) ? $0 : nil }
        let connection = try HTTP2Connection(
            origin, host: transfer.host, resuming: session, of: self, loop: loop)
        connections.append(connection)
        if transfer.isRenewing { renewal = connection }
        try connection.add(transfer)
    }

    private func usable(_ host: Int) -> HTTP2Connection? {
        let now = loop.now
        for connection in connections where connection !== renewal {
            if connection.isUsable(at: now) {
                if connection.host == host, !connection.isFull { return connection }
            } else {
                connection.closeIfIdle()
            }
        }
        return nil
    }

    /// Breaks those on which requests have got nothing for `limit`.
    func evictSilent(for limit: Duration) {
        let now = loop.now
        for connection in connections where connection.isSilent(for: limit, at: now) { connection.evict() }
    }

    /// Breaks all of them.
    func evictAll() { for connection in connections { connection.evict() } }

    /// Has none of them take a further request.
    func retireAll() {
        for connection in connections where connection !== renewal { connection.retire() }
    }

    /// The request has ended for which a connection was opened: that one replaces all others, or closes.
    func endRenewal(isGood: Bool) {
        if isGood { retireAll() } else { renewal?.retire() }
        renewal = nil
    }

    /// Closes those that have had nothing to do for `time`.
    func closeIdle(for time: Duration) {
        let now = loop.now
        for connection in connections {
            if let since = connection.idleSince, now - since >= time { connection.closeIfIdle() }
        }
    }

    /// Closes all of them without telling anybody.
    func abandonAll() { for connection in connections { connection.abandon() } }

    // MARK: From connections

    func remove(_ connection: HTTP2Connection) {
        connections.removeAll { $0 === connection }
        if renewal === connection { renewal = nil }
    }

    /// Learns how many requests the server takes at once.
    func learn(streamLimit limit: UInt32) { streamLimit = max(1, min(HTTPLimits.streams, Int(limit))) }

    /// Keeps what a connection's handshake left for the next one.
    func keep(_ tls: TLSChannel, for host: Int, verified: Instant) {
        if let session = tls.resumable(verified: verified) { sessions[host] = session }
    }
}
