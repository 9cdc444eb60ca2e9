import DNSResolver
import DNSWire
import Glibc
import Platform
package import Scheduling

/// One query to one server, on a socket of its own.
///
/// The kernel chooses the socket's port at random, and passes on only what comes from the server's address and port.
/// Over UDP the exchange listens until a datagram is the response; over TCP it ends with the first message
/// (RFC 7766 section 8).
@Loop
final class LocalDNSExchange {
    /// The most bytes of one read: more than any requested size of a datagram.
    private nonisolated static let readSize = 4_096
    /// Reads in one turn of the loop.
    private nonisolated static let readsPerTurn = 16

    private let query: LocalDNSQuery
    private let onReply: @Loop (LocalDNSQuery.Reply) -> Void
    /// Nil once it has ended.
    private var socket: Descriptor?
    private var watch: Watch?
    private var isSent = false
    private var isStream: Bool { query.transport == .tcp }
    /// What a stream has brought: the length of a message, and its beginning.
    private var received: [UInt8] = []

    /// Opens the socket, and over UDP sends the query.
    ///
    /// - Parameter onReply: called once when it has ended, and its socket is closed; before that each time that a datagram is in
    ///   another letter case. Never before this returns, nor after `close()`.
    /// - Throws: `UpstreamFailure.overloaded` without descriptors or memory, `UpstreamFailure.network` without a route.
    init(
        _ query: LocalDNSQuery, to server: LocalDNSServer, on loop: EventLoop,
        onReply: @escaping @Loop (LocalDNSQuery.Reply) -> Void
    ) throws(UpstreamFailure) {
        self.query = query
        self.onReply = onReply
        let opened = try Self.open(server, query.transport)
        let number = opened.number
        socket = consume opened
        if !isStream { try send(query.bytes) }
        do {
            watch = try loop.watch(number, for: isStream ? .writable : .readable) { [weak self] _ in self?.serve() }
        } catch {
            throw .overloaded("no socket for LocalDNS: \(error.reason)")
        }
    }

    private static func open(_ server: LocalDNSServer, _ transport: Transport) throws(UpstreamFailure) -> Descriptor {
        let scope = server.interface.map { unsafe if_nametoindex($0) } ?? 0
        let address = SocketAddress(server.address, port: server.port, scope: scope)
        do throws(SystemError) {
            return try .connecting(to: address, transport) { number in
                guard let interface = server.interface else { return }
                // Without the right to bind it, the routes decide; for a link-local address its scope does.
                _ = unsafe setsockopt(number, SOL_SOCKET, SO_BINDTODEVICE, interface, socklen_t(interface.utf8.count))
            }
        } catch {
            throw failure(error)
        }
    }

    /// The failure of a system call; clients may see it.
    private static func failure(_ error: SystemError) -> UpstreamFailure {
        if let shortage = error.shortage { return .overloaded("no socket for LocalDNS: \(shortage)") }
        return .network(error.code == ECONNREFUSED ? "no connection" : error.description)
    }

    private func send(_ bytes: [UInt8]) throws(UpstreamFailure) {
        guard let number = socket?.number else { return }
        let count = unsafe Glibc.send(number, bytes, bytes.count, Int32(MSG_NOSIGNAL))
        guard count >= 0 else { throw Self.failure(.last("send")) }
        // So few bytes fit into any socket's buffer.
        guard count == bytes.count else { throw .network("the server takes nothing") }
        isSent = true
    }

    private func serve() {
        guard isSent else {
            do throws(UpstreamFailure) {
                let count = query.bytes.count
                try send([UInt8(truncatingIfNeeded: count >> 8), UInt8(truncatingIfNeeded: count)] + query.bytes)
                watch?.update(.readable)
            } catch {
                end(.lost(error))
            }
            return
        }
        for _ in 0..<Self.readsPerTurn {
            // Also `onReply` may have closed it.
            guard let number = socket?.number else { return }
            var count = 0
            let bytes = unsafe [UInt8](unsafeUninitializedCapacity: Self.readSize) { buffer, length in
                count = unsafe recv(number, buffer.baseAddress, buffer.count, 0)
                length = max(0, count)
            }
            if count < 0 {
                if errno == EAGAIN { return }
                if errno != EINTR { return end(.lost(Self.failure(.last("receive")))) }
            } else if !isStream {
                switch query.reply(in: bytes) {
                case nil: break
                case .otherLetterCase?: onReply(.otherLetterCase)
                case let reply?: return end(reply)
                }
            } else if count == 0 {
                return end(.lost(.network("the connection was closed")))
            } else {
                received += bytes
                let length = received.count < 2 ? .max : 2 + Int(received[0]) << 8 + Int(received[1])
                if received.count >= length {
                    let reply = query.reply(in: Array(received[2..<length]))
                    return end(reply ?? .unusable(.unusable("not a response to the query")))
                }
            }
        }
    }

    private func end(_ reply: LocalDNSQuery.Reply) {
        close()
        onReply(reply)
    }

    /// Ends the exchange, and closes the socket; nothing is reported any more.
    func close() {
        watch?.cancel()
        watch = nil
        socket = nil
    }
}

/// What the queries to the servers of one LocalDNS need and share.
struct LocalDNSEnvironment: Sendable {
    /// Its name, for events.
    let name: String
    let report: @Loop (ResolverEvent) -> Void
    let limit: LocalDNSLimit
    /// Says which servers are unreachable now, and are therefore not queried.
    let paths: NetworkPaths
    let loop: EventLoop
    /// For deadlines; the loop except in tests.
    let clock: any LoopClock
}

/// Limits the number of outstanding queries, of one `LocalDNS` or of several that share the limit.
///
/// Each has a descriptor. The rule is `FairShare`'s. A network that would itself have the most displaces its own oldest
/// query, once that has been without a response for so long that an answer is unlikely, by the first query of a lookup:
/// so names that are answered have priority over names that are not, and over repeats.
@Loop
package final class LocalDNSLimit: Sendable {
    /// The longest wait for a server that does not respond before the next one is queried; after it a query may be
    /// displaced by another one of its own network.
    nonisolated static let patience = Duration.milliseconds(400)

    /// The most outstanding queries. Default 1,024.
    package nonisolated let maximum: Int
    private var shares: FairShare
    private var queries: [FairShare.Ticket: (began: Instant, displace: @Loop (FairShare.Ticket) -> Void)] = [:]

    package nonisolated init(maximum: Int = 1_024) {
        self.maximum = maximum
        shares = FairShare(capacity: maximum)
    }

    /// The number of outstanding queries.
    package var count: Int { shares.count }

    /// Why a query is not sent.
    nonisolated var failure: UpstreamFailure { .overloaded("\(maximum) queries to LocalDNS are under way") }

    /// Whether `enter` would add a query now.
    func hasRoom(for network: ClientNetwork, isOnly: Bool, at now: Instant) -> Bool {
        !shares.isFull || leaving(for: network, isOnly: isOnly, at: now) != nil
    }

    /// Adds a query; nil when the limit is reached and none can be displaced.
    ///
    /// - Parameters:
    ///   - isOnly: whether it is the only outstanding query of its lookup.
    ///   - displace: called with its ticket when the query is displaced; then it has left.
    func enter(
        for network: ClientNetwork, isOnly: Bool, at now: Instant, displace: @escaping @Loop (FairShare.Ticket) -> Void
    ) -> FairShare.Ticket? {
        if shares.isFull {
            guard let leaving = leaving(for: network, isOnly: isOnly, at: now) else { return nil }
            let displaced = queries[leaving]
            leave(leaving)
            displaced?.displace(leaving)
        }
        let ticket = shares.add(for: network)
        queries[ticket] = (now, displace)
        return ticket
    }

    private func leaving(for network: ClientNetwork, isOnly: Bool, at now: Instant) -> FairShare.Ticket? {
        if let ticket = shares.yielding(to: network) { return ticket }
        guard isOnly, let own = shares.first(of: network), let query = queries[own] else { return nil }
        return now - query.began >= Self.patience ? own : nil
    }

    /// Removes a query.
    func leave(_ ticket: FairShare.Ticket) {
        shares.remove(ticket)
        queries[ticket] = nil
    }
}
