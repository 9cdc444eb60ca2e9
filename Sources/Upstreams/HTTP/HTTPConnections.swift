import DNSResolver
import DNSWire
import Platform

/// Connections to one address of a service, and the requests that are on them or wait for one being made.
///
/// One connection takes requests, or several when there are more requests than fit on one; others are being retired, or are
/// for one request each. Each speaks what the server has chosen in its handshake.
@Loop
final class HTTPConnections {
    private let origin: HTTPOrigin
    private let loop: EventLoop
    private var connections: [HTTPConnection] = []
    /// The renewing request, and the connection opened for it, until that request has ended.
    private var renewal: (transfer: HTTPTransfer, connection: HTTPConnection?)?
    /// The TLS sessions to resume in the next handshake, by index into `origin.hosts`.
    var sessions: [Int: TLSSession] = [:]
    /// Whether the server last spoke HTTP/2.
    private var isMultiplexed: Bool
    /// The most requests at once on a shared connection: the server's last limit, or ours.
    private var streamLimit = 1
    /// The name that worked last, as an index into `origin.hosts`.
    private var preferredHost = 0
    /// The requests, in no order.
    private var active: [(transfer: HTTPTransfer, carrier: HTTPConnection)] = []
    /// Those that may be displaced, by client network: counted only while requests wait, so nothing of it is on the path of
    /// a miss.
    private var shares: FairQueue<HTTPTransfer>?

    init(_ origin: HTTPOrigin, loop: EventLoop) {
        self.origin = origin
        self.loop = loop
        isMultiplexed = origin.scheme == .https
        learn(streamLimit: .max)
    }

    var count: Int { connections.count }

    /// The most shared connections, beside one that replaces the others.
    private var mostShared: Int { isMultiplexed ? HTTPLimits.connections : HTTPLimits.unsharedRequests }

    var capacity: Int { min(HTTPLimits.requests, streamLimit * mostShared) }

    /// Whether a request that is sent on a connection of its own may be: others can be in any case.
    func hasPlace(for transfer: HTTPTransfer) -> Bool {
        !transfer.isSeparate || connections.count { $0.isSeparate && !$0.isIdle } < HTTPLimits.separateConnections
    }

    // MARK: Requests

    var requests: Int { active.count }

    var transfers: [HTTPTransfer] { active.map(\.transfer) }

    var hasSent: Bool { active.contains { $0.transfer.stream != nil } }

    /// The connection of a request; nil for one that is not there.
    func carrier(of transfer: HTTPTransfer) -> HTTPConnection? { transfer.index.map { active[$0].carrier } }

    /// Sends a request on a connection under a name that it may have, opened if there is none. Throws why it cannot be
    /// sent, if that is known at once.
    func add(_ transfer: HTTPTransfer) throws(UpstreamFailure) {
        transfer.host =
            transfer.refusedHosts.contains(preferredHost) ? untriedHost(of: transfer) ?? 0 : preferredHost
        // What broke one connection, or the fault of one, may be that of others: on one of its own a request finds out.
        let isAlone = transfer.isRenewing || transfer.isSeparate || streamLimit == 1 && transfer.isRepeated
        let known = isAlone ? nil : usable(transfer.host)
        let carrier = if let known { known } else { try open(for: transfer) }
        try carrier.add(transfer)
        transfer.index = active.count
        active.append((transfer, carrier))
        transfer.share = transfer.isRenewing ? nil : shares?.append(transfer, for: transfer.holder)
    }

    private func usable(_ host: Int) -> HTTPConnection? {
        let now = loop.now
        for connection in connections where connection !== renewal?.connection && !connection.isSeparate {
            if connection.isUsable(at: now) {
                if connection.host == host, connection.requests < streamLimit { return connection }
            } else {
                connection.closeIfIdle()
            }
        }
        return nil
    }

    private func open(for transfer: HTTPTransfer) throws(UpstreamFailure) -> HTTPConnection {
        if !transfer.isRenewing {
            let others = connections.filter { $0 !== renewal?.connection && $0.isSeparate == transfer.isSeparate }
            if others.count >= (transfer.isSeparate ? HTTPLimits.separateConnections : mostShared) {
                let unusable = others.first { $0.isIdle } ?? others.first { !$0.isUsable(at: loop.now) }
                (unusable ?? others.first)?.evict()
            }
        }
        // A server may accept a session only once (RFC 8446 appendix C.4).
        let session = sessions.removeValue(forKey: transfer.host).flatMap { $0.isUsable(at: loop.now) ? $0 : nil }
        let connection = try HTTPConnection(
            origin, host: transfer.host, isSeparate: transfer.isSeparate, resuming: session,
            offering: transfer.isForHTTP1 ? TLSChannel.http1 : TLSChannel.http2, loop: loop
        ) { [self] in hear($1, of: $0) }
        connections.append(connection)
        if transfer.isRenewing, !transfer.isSeparate { renewal = (transfer, connection) }
        return connection
    }

    /// Removes a request that has ended, if it is there. Returns its connection.
    @discardableResult
    func remove(_ transfer: HTTPTransfer) -> HTTPConnection? {
        guard let index = transfer.index.take() else { return nil }
        let carrier = active[index].carrier
        let last = active.removeLast()
        if last.transfer !== transfer {
            active[index] = last
            last.transfer.index = index
        }
        if let share = transfer.share.take() { shares?.remove(share) }
        return carrier
    }

    /// Withdraws a request from its connection, if it is on one.
    func withdraw(_ transfer: HTTPTransfer) {
        remove(transfer)?.withdraw(transfer)
        endRenewal(transfer)
    }

    // MARK: Names

    /// Others are sent first under the name under which a request was answered.
    func noteName(of transfer: HTTPTransfer) { if origin.scheme == .https { preferredHost = transfer.host } }

    /// The certificate is not for a request's name. Returns false where it is for none of the others either.
    func refuseName(of transfer: HTTPTransfer) -> Bool {
        transfer.refusedHosts.insert(transfer.host)
        let next = untriedHost(of: transfer)
        if preferredHost == transfer.host { preferredHost = next ?? 0 }
        return next != nil
    }

    private func untriedHost(of transfer: HTTPTransfer) -> Int? {
        origin.hosts.indices.first { !transfer.refusedHosts.contains($0) }
    }

    // MARK: Ends of connections

    func evictAll() { for connection in connections { connection.evict() } }

    /// Retires all connections: none takes a further request.
    func retireAll() {
        for connection in connections where connection !== renewal?.connection { connection.retire() }
    }

    /// Begins to renew the connection by a request. Returns false where another one does so.
    func beginRenewal(_ transfer: HTTPTransfer) -> Bool {
        guard renewal == nil else { return false }
        renewal = (transfer, nil)
        return true
    }

    /// Ends the renewal, if the request is it: its connection replaces all older ones if it is good, and is retired else.
    func endRenewal(_ transfer: HTTPTransfer, isGood: Bool = false) {
        guard let renewal, renewal.transfer === transfer else { return }
        if isGood { retireAll() } else { renewal.connection?.retire() }
        self.renewal = nil
    }

    /// Closes connections that have been idle for `time`.
    func closeIdle(for time: Duration) {
        let now = loop.now
        for connection in connections {
            if let since = connection.idleSince, now - since >= time { connection.closeIfIdle() }
        }
    }

    func hear(_ event: HTTPConnection.Event, of connection: HTTPConnection) {
        switch event {
        // Some requests are sent by HTTP/1.1 on connections of their own, whatever the server speaks.
        case .isReady(let isHTTP2): if !connection.isSeparate { learn(isHTTP2: isHTTP2) }
        case .allows(let limit): if !connection.isSeparate { learn(streamLimit: limit) }
        case .requestsEnded:
            // What breaks a connection for one request is that request's; of others no more than a few stay open.
            let isSpare =
                connections.count > HTTPLimits.connections
                && connections.count(where: { $0.isIdle }) > HTTPLimits.connections
            if connection.isSeparate || isSpare { connection.closeIfIdle() }
        case .isClosed(let session):
            if let session { sessions[connection.host] = session }
            connections = connections.filter { $0 !== connection }
            if renewal?.connection === connection { renewal?.connection = nil }
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
        streamLimit = isMultiplexed ? max(1, min(HTTPLimits.streams, Int(limit))) : 1
    }

    // MARK: Shares

    /// How many requests a network has, as far as they are counted.
    func held(by network: ClientNetwork) -> Int { shares?.held(by: network) ?? 0 }

    /// Withdraws the request that yields its place to one of `network`; nil: there is none. Counts them from now on.
    func displace(for network: ClientNetwork) -> HTTPTransfer? {
        let shares = self.shares ?? counted(transfers) { $0.share = $1 }
        self.shares = shares
        return withdrawn(shares.displace(for: network))
    }

    /// The same of those that have a connection each.
    func displaceSeparate(for network: ClientNetwork) -> HTTPTransfer? {
        withdrawn(counted(transfers.filter(\.isSeparate)).displace(for: network))
    }

    /// One that renews the connection is not displaced; of the others of each network, the one that ends first is first.
    private func counted(
        _ active: [HTTPTransfer], note: (HTTPTransfer, FairShare.Ticket) -> Void = { _, _ in }
    ) -> FairQueue<HTTPTransfer> {
        let shares = FairQueue<HTTPTransfer>(capacity: active.count)
        for transfer in active.sorted(by: { $0.deadline < $1.deadline }) where !transfer.isRenewing {
            note(transfer, shares.append(transfer, for: transfer.holder))
        }
        return shares
    }

    private func withdrawn(_ transfer: HTTPTransfer?) -> HTTPTransfer? {
        if let transfer { withdraw(transfer) }
        return transfer
    }

    /// Counts no more.
    func forgetShares() { shares = nil }
}
