import DNSResolver
import Platform
import Scheduling

/// The client of a connection, as the rules about clients see it.
struct ConnectionClient: Sendable {
    /// Behind a proxy the one that the proxy reports.
    let address: SocketAddress
    let transport: Transport
    /// Whether it is answered whatever `listen.allow` says: it has presented a certificate of `listen.client_ca`, or a
    /// token.
    var isTrusted = false
}

/// An open connection in the table of all: from its handshake, if it has one, to its end.
@Loop
protocol ServedConnection: AnyObject, Sendable {
    var client: ConnectionClient { get }
    /// Its place among all connections; nil before it is admitted and after it has closed.
    var ticket: FairShare.Ticket? { get set }
    /// Whether closing it loses nothing: no query is outstanding, and no response unsent.
    var isIdle: Bool { get }
    /// When its last query arrived or its last response became ready; before the first, when it began.
    var lastActivity: Instant { get }
    /// Bytes of unfinished queries and unsent responses that it holds, as it has booked them.
    var held: Int { get }

    /// Begins to read. Returns false when the event loop accepts no more descriptors; the connection is closed then.
    func start() -> Bool

    /// Reads no more; closes when the last response was received, which may be at once.
    func finish()

    /// Closes at once, even with queries outstanding. A second call does nothing.
    func close()
}

/// A connection whose last response has been sent, and whose client may still be sending: closed at once it would be reset,
/// and the client might never read the response (RFC 9112 section 9.6). What comes is dropped.
@Loop
final class EndingConnection: ServedConnection {
    /// The most bytes that are dropped: more than is in transit to a client that reads its response.
    private nonisolated static let most = 1 << 20

    let client: ConnectionClient
    var ticket: FairShare.Ticket?
    private let socket: StreamSocket
    private let owner: Connections
    private var life: ConnectionLife
    private var dropped = 0

    /// - Parameter socket: of which the sending side is closed.
    init(_ socket: StreamSocket, client: ConnectionClient, in owner: Connections) {
        self.socket = socket
        self.client = client
        self.owner = owner
        life = ConnectionLife(at: owner.loop.now)
    }

    var isIdle: Bool { true }
    var lastActivity: Instant { life.lastActivity }
    var held: Int { 0 }

    func start() -> Bool {
        guard life.watch(socket, owner, { [self] _ in drop() }) else { return false }
        life.setTimer(at: owner.loop.now + owner.limits.linger, owner) { [weak self] in self?.close() }
        return true
    }

    private func drop() {
        switch owner.read(socket) {
        case (.moved(let count), _):
            dropped += count
            if dropped > Self.most { close() }
        case (.waits, _): break
        case (.ended, _), (.failed, _): close()
        }
    }

    func finish() { close() }

    func close() { if life.end(socket, owner) { owner.remove(self) } }
}

/// What a connection has from its start to its end whatever it speaks: its watch, the time at which it is closed, its part
/// of the bytes that all connections hold.
@Loop
struct ConnectionLife {
    /// What a connection waits for.
    enum Phase {
        /// The client, to take responses.
        case reading
        /// The resolver or a service.
        case answering
        /// The client, to ask.
        case idle
    }

    private(set) var isClosed = false
    private(set) var watch: Watch?
    private var timer: LoopTimer?
    /// When the last whole query arrived, or the last response became ready. Bytes of an unfinished query do not count.
    private(set) var lastActivity: Instant
    /// When the client last received part of its responses.
    private var lastProgress: Instant
    /// Bytes added to those of all connections.
    private(set) var held = 0

    init(at now: Instant) { (lastActivity, lastProgress) = (now, now) }

    /// Has `ready` called when a stream can be read. Returns false when the loop accepts no more descriptors: it is closed then.
    mutating func watch(
        _ stream: any ByteStream, _ owner: Connections, _ ready: @escaping @Loop (Interest) -> Void
    ) -> Bool {
        watch = try? owner.loop.watch(stream.number, for: .readable, ready)
        if watch == nil { stream.close() }
        return watch != nil
    }

    mutating func noteActivity(at now: Instant) { lastActivity = now }

    mutating func noteProgress(at now: Instant) { lastProgress = now }

    /// When a connection is closed that stays in its phase.
    func due(in phase: Phase, _ owner: Connections) -> Instant {
        switch phase {
        case .reading: lastProgress + owner.limits.stall
        case .answering: owner.loop.now + owner.limits.idle
        case .idle: lastActivity + owner.limits.idle
        }
    }

    /// Has `check` called when the connection may be due.
    mutating func setTimer(at due: Instant, _ owner: Connections, _ check: @escaping @Loop () -> Void) {
        // One timer that checks again costs less than one rescheduled by every query. It fires no later than the end of
        // a stall that begins now.
        timer = owner.loop.schedule(at: min(due, owner.loop.now + owner.limits.stall), check)
    }

    /// Notes the bytes that the connection holds now. Returns how many more than before, which are to be booked.
    mutating func hold(_ bytes: Int) -> Int {
        defer { held = bytes }
        return bytes - held
    }

    /// Ends watch, stream, timer and booking.
    ///
    /// - Returns: whether they had not ended before.
    mutating func end(_ stream: any ByteStream, _ owner: Connections) -> Bool {
        guard !isClosed else { return false }
        isClosed = true
        watch?.cancel()
        watch = nil
        stream.close()
        timer?.cancel()
        timer = nil
        owner.release(held)
        held = 0
        return true
    }
}
