import DNSResolver
import Platform
import Scheduling

/// One client over TCP (RFC 7766) or TLS (RFC 7858): its queries are handled concurrently, and answered in the order in which answers arrive.
@Loop
final class TCPConnection: ServedConnection, ReplySink {
    nonisolated let client: ConnectionClient
    var ticket: FairShare.Ticket?
    private let owner: Connections
    private let queries: ConnectionQueries
    private let stream: any ByteStream
    private var life: ConnectionLife
    private var frames = FrameBuffer()
    private var outbound = OutboundBuffer()
    /// Queries that wait for the resolver.
    private var outstanding = 0
    /// Whether no more is read: the client has ended its side, or the server stops.
    private var isReadingOver = false
    /// Whether no more is read although the client may be sending.
    private var isAbandoned = false
    /// What the socket must be ready for before more can be read, or written.
    private var (readNeeds, writeNeeds) = (Interest.readable, Interest.writable)
    /// Whether it waits for its turn to have more messages handled, or more read.
    private var isWaiting = false
    /// Whether messages are being handled right now; a response that comes meanwhile is only queued.
    private var isHandling = false

    init(
        _ stream: any ByteStream, client: ConnectionClient, _ queries: ConnectionQueries, in owner: Connections
    ) {
        self.queries = queries
        self.stream = stream
        self.client = client
        self.owner = owner
        life = ConnectionLife(at: owner.loop.now)
    }

    nonisolated var transport: Transport { client.transport }
    private var limits: ServerLimits { owner.limits }
    private var now: Instant { owner.loop.now }
    private var isClosed: Bool { life.isClosed }

    var isIdle: Bool { outstanding == 0 && outbound.isEmpty && !frames.hasMessage }
    var lastActivity: Instant { life.lastActivity }
    var held: Int { life.held }

    /// Whether more queries of the client are handled for now.
    private var isWithinLimits: Bool {
        outstanding < limits.pendingPerConnection && outbound.count <= limits.queuedReplies
    }

    func start() -> Bool {
        guard life.watch(stream, owner, { [self] in ready($0) }) else { return false }
        setTimer(at: life.due(in: .idle, owner))
        waitForTurn()
        return !isClosed
    }

    private func ready(_ interest: Interest) {
        if !interest.isDisjoint(with: readNeeds), !isReadingOver { receive() }
        handleMessages()
        settle()
    }

    private func receive() {
        let (outcome, received) = owner.read(stream)
        switch outcome {
        case .moved:
            readNeeds = .readable
            frames.append(received)
        case .waits(let needed): readNeeds = needed
        case .ended: isReadingOver = true
        case .failed: close()
        }
    }

    /// Sends what is possible now, and watches the socket, or waits for its turn, for the rest. Handles no message: a response
    /// may come while the resolver is at work, which then must not be asked.
    private func settle() {
        flush()
        guard !isClosed else { return }
        frames.trim()
        guard owner.book(life.hold(frames.count + outbound.count), of: self) else { return close() }
        if isReadingOver, outstanding == 0, outbound.isEmpty, !frames.hasMessage { return close(lingers: isAbandoned) }
        waitForTurn()
        guard !isClosed else { return }
        var interest: Interest = []
        if !isReadingOver, isWithinLimits, !frames.hasMessage { interest.formUnion(readNeeds) }
        if !outbound.isEmpty { interest.formUnion(writeNeeds) }
        if life.watch?.update(interest) == false { close() }
    }

    /// Has what it has left handled, or read, in its turn.
    private func waitForTurn() {
        guard isWithinLimits, frames.hasMessage || !isReadingOver && stream.hasUnread, !isWaiting else { return }
        isWaiting = owner.turns.wait(of: client) { [weak self] in
            guard let self, !isClosed else { return }
            isWaiting = false
            ready(frames.hasMessage ? [] : readNeeds)
        }
        if !isWaiting { close() }
    }

    private func handleMessages() {
        isHandling = true
        defer { isHandling = false }
        while !isClosed, isWithinLimits, owner.turns.hasRoom {
            switch frames.next() {
            case .incomplete: return
            case .malformed: return abandonInput()
            case .message(let range): handle(Array(frames.bytes[range]))
            }
        }
    }

    /// Stops reading a stream that cannot be parsed; queries received before are still answered.
    private func abandonInput() {
        frames = FrameBuffer()
        (isReadingOver, isAbandoned) = (true, true)
    }

    private func handle(_ message: [UInt8]) {
        noteActivity()
        let (reply, isPending) = queries.handle(message, of: client)
        if let reply { queue(reply) }
        guard isPending else { return }
        outstanding += 1
        queries.ask(message, of: client, for: self)
    }

    private func noteActivity() {
        life.noteActivity(at: now)
        owner.used(self)
    }

    /// Queues the response to an outstanding query; drops it after the connection has closed.
    func send(_ reply: [UInt8]) {
        outstanding -= 1
        guard !isClosed else { return }
        noteActivity()
        queue(reply)
        if !isHandling { settle() }
    }

    private func queue(_ reply: [UInt8]) {
        if outbound.isEmpty { life.noteProgress(at: now) }
        outbound.append(reply)
    }

    private func flush() {
        while !isClosed, !outbound.isEmpty {
            switch stream.write(outbound.unwritten) {
            case .moved(let count):
                writeNeeds = .writable
                outbound.removeFirst(count)
                life.noteProgress(at: now)
            case .waits(let needed):
                writeNeeds = needed
                return
            case .ended, .failed: return close()
            }
        }
    }

    func finish() {
        isReadingOver = true
        settle()
    }

    /// Goes on where another process has left a connection, once it is admitted.
    func resume(input: [UInt8], output: [UInt8]) {
        frames.append(input[...])
        outbound = OutboundBuffer(output)
        settle()
    }

    /// Stops, for another process to go on: gives up the socket, and what was not answered or not sent.
    ///
    /// - Parameter unanswered: the messages that wait for the resolver.
    /// - Returns: nil when the connection is closed, or encrypted: its keys stay here, and its client makes another.
    func handOver(unanswered: [[UInt8]]) -> UnfinishedWork.Connection? {
        guard !isClosed, let descriptor = (stream as? StreamSocket)?.release() else { return nil }
        var input = OutboundBuffer()
        for message in unanswered { input.append(message) }
        defer { close() }
        return UnfinishedWork.Connection(
            socket: PassedDescriptor(descriptor, name: PassedKind.connection.rawValue), peer: client.address,
            input: Array(input.unwritten) + frames.rest, output: Array(outbound.unwritten))
    }

    func close() { close(lingers: false) }

    private func close(lingers: Bool) {
        let socket = lingers ? stream.endOutput() : nil
        guard life.end(stream, owner) else { return }
        frames = FrameBuffer()
        outbound = OutboundBuffer()
        owner.remove(self, leaving: socket)
    }

    // MARK: Time-outs

    private func setTimer(at due: Instant) { life.setTimer(at: due, owner) { [weak self] in self?.checkTime() } }

    private var phase: ConnectionLife.Phase {
        if !outbound.isEmpty { return .reading }
        return outstanding > 0 ? .answering : .idle
    }

    /// Closes a connection that was idle for too long, or whose client receives no responses.
    private func checkTime() {
        let due = life.due(in: phase, owner)
        if due <= now { close() } else { setTimer(at: due) }
    }
}
