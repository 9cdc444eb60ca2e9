import DNSResolver
import DNSWire
import Platform

/// The client of a connection, as the rules about clients see it.
struct ConnectionClient: Sendable {
    /// Behind a proxy the one that the proxy reports.
    let address: SocketAddress
    let transport: Transport
    /// Whether it is answered whatever `listen.allow` says: it has presented a certificate of `listen.client_ca`, or a
    /// token.
    var isTrusted = false
}

/// What all connections of one kind have in common.
@Loop
final class ConnectionContext {
    /// Bytes read from a connection by one system call.
    private nonisolated static let readSize = TLSStream.plaintext

    let loop: EventLoop
    let limits: ServerLimits
    /// The turns in which their queries are handled.
    let turns: TurnQueue
    /// The buffer that every connection reads into first.
    private var scratch = [UInt8](repeating: 0, count: readSize)

    init(loop: EventLoop, limits: ServerLimits, turns: TurnQueue) {
        (self.loop, self.limits, self.turns) = (loop, limits, turns)
    }

    /// Reads from a connection; the slice has the bytes read.
    func read(_ stream: any ByteStream) -> (StreamOutcome, ArraySlice<UInt8>) {
        let outcome = stream.read(into: &scratch)
        guard case .moved(let count) = outcome else { return (outcome, []) }
        return (outcome, scratch[..<count])
    }
}

/// A connection in the table of all, in one part of its life: its handshake, if it has one, its requests, or its end. Has
/// what all of them have: a watch, the time at which it is closed, its part of the bytes that all connections hold.
@Loop
class ServedConnection {
    /// What is reported to its table.
    enum Event {
        /// A query has arrived by it, or a response to one is ready.
        case isUsed
        /// Its client is another one: its proxy has reported it.
        case isIdentified
        /// It holds so many bytes more than before.
        case holds(more: Int)
        /// It has ended, and another one takes its place, such as one whose handshake is done.
        case isFollowed(ServedConnection)
        /// It has closed; a socket may be left of it, by which its client may still be sending.
        case isClosed(leaving: StreamSocket?)
    }

    final let context: ConnectionContext
    /// Set by its table, as long as it is there.
    final var tell: (@Loop (ServedConnection, Event) -> Void)?
    final var client: ConnectionClient
    /// How its responses travel.
    nonisolated final let transport: Transport
    /// Its socket's number, for the event loop.
    final let number: Int32
    /// Its place among all connections; nil before it is admitted and after it has closed.
    final var ticket: FairShare.Ticket?
    /// When its last query arrived or its last response became ready; before the first, when it began. Bytes of an unfinished
    /// query do not count.
    private(set) final var lastActivity: Instant
    /// Bytes of unfinished queries and unsent responses that it holds, as it has booked them.
    private(set) final var held = 0
    private(set) final var isClosed = false
    private(set) final var watch: Watch?
    private var timer: LoopTimer?

    init(_ number: Int32, _ client: ConnectionClient, in context: ConnectionContext) {
        (self.number, self.client, self.context) = (number, client, context)
        transport = client.transport
        lastActivity = context.loop.now
    }

    final var limits: ServerLimits { context.limits }
    final var now: Instant { context.loop.now }

    /// Begins to read. Returns false when the connection is closed already: the event loop accepts no more descriptors, say.
    final func start() -> Bool {
        watch = try? context.loop.watch(number, for: .readable) { [self] in ready($0) }
        guard watch != nil else {
            close()
            return false
        }
        setTimer()
        begin()
        return !isClosed
    }

    private func setTimer() {
        // One timer that checks again costs less than one rescheduled by every query. It fires no later than the end of
        // a stall that begins now.
        timer = context.loop.schedule(at: min(due, now + limits.stall)) { [weak self] in
            guard let self, !isClosed else { return }
            if due <= now { expire() } else { setTimer() }
        }
    }

    final func noteActivity() {
        lastActivity = now
        tell?(self, .isUsed)
    }

    /// Books the bytes that it holds now, for which it may be closed.
    final func book(_ bytes: Int) {
        let change = bytes - held
        held = bytes
        tell?(self, .holds(more: change))
    }

    /// Ends watch, timer and booking. Returns whether they had not ended before.
    final func end() -> Bool {
        guard !isClosed else { return false }
        isClosed = true
        watch.take()?.cancel()
        timer.take()?.cancel()
        book(0)
        return true
    }

    // MARK: What differs

    /// Whether it gives its place to another one: closing it loses nothing, or nothing but responses that its client does not
    /// read.
    var yields: Bool { true }

    /// When it is closed if nothing happens until then.
    var due: Instant { now }

    /// Called when it is watched.
    func begin() {}

    /// Called when the socket is ready for something, or broken.
    func ready(_ interest: Interest) {}

    /// Called when it is due.
    func expire() { close() }

    /// Reads no more; closes when the last response was received, which may be at once.
    func finish() { close() }

    /// Closes at once, even with queries outstanding. A second call does nothing.
    func close() {}
}

/// A connection whose last response has been sent, and whose client may still be sending: closed at once it would be reset,
/// and the client might never read the response (RFC 9112 section 9.6). What comes is dropped.
final class EndingConnection: ServedConnection {
    /// The most bytes that are dropped: more than is in transit to a client that reads its response.
    private nonisolated static let most = 1 << 20

    private let socket: StreamSocket
    private var dropped = 0

    /// - Parameter socket: of which the sending side is closed.
    init(_ socket: StreamSocket, client: ConnectionClient, in context: ConnectionContext) {
        self.socket = socket
        super.init(socket.number, client, in: context)
    }

    override var due: Instant { lastActivity + limits.linger }

    override func ready(_ interest: Interest) {
        switch context.read(socket) {
        case (.moved(let count), _):
            dropped += count
            if dropped > Self.most { close() }
        case (.waits, _): break
        case (.ended, _), (.failed, _): close()
        }
    }

    override func close() {
        guard end() else { return }
        socket.close()
        tell?(self, .isClosed(leaving: nil))
    }
}
