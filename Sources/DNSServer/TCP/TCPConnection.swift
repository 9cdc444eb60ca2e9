import DNSResolver
import Platform
import Scheduling

/// One client over TCP (RFC 7766) or TLS (RFC 7858): its queries are handled concurrently, and answered in the order in which answers arrive.
@Loop
final class TCPConnection: ServedConnection, ReplySink {
    nonisolated let client: ConnectionClient
    var ticket: FairShare.Ticket?
    private let owner: any ConnectionOwner
    private let stream: any ByteStream
    private var watch: Watch?
    private var frames = FrameBuffer()
    private var outbound = OutboundBuffer()
    /// Queries that wait for the resolver.
    private var outstanding = 0
    /// Whether no more is read: the client has ended its side, or the server stops.
    private var isReadingOver = false
    private var isClosed = false
    /// What the socket must be ready for before more can be read, or written.
    private var (readNeeds, writeNeeds) = (Interest.readable, Interest.writable)
    /// Whether reading goes on at the end of a turn.
    private var isContinuing = false
    /// Whether messages are being handled right now; a response that comes meanwhile is only queued.
    private var isHandling = false
    /// When the last whole query arrived, or the last response became ready. Bytes of an unfinished query do not count.
    private var lastActivity: Instant
    /// When the client last received part of its responses.
    private var lastProgress: Instant
    private var timer: LoopTimer?
    /// Bytes added to the total of all connections.
    private var booked = 0

    init(_ stream: any ByteStream, client: ConnectionClient, in owner: any ConnectionOwner) {
        self.stream = stream
        self.client = client
        self.owner = owner
        lastActivity = owner.loop.now
        lastProgress = owner.loop.now
    }

    nonisolated var transport: Transport { client.transport }
    private var limits: ServerLimits { owner.limits }
    private var now: Instant { owner.loop.now }

    var isIdle: Bool { outstanding == 0 && outbound.isEmpty && !frames.hasMessage }

    /// Whether more queries of the client are handled for now.
    private var isWithinLimits: Bool {
        outstanding < limits.pendingPerConnection && outbound.count <= limits.queuedReplies
    }

    func start() -> Bool {
        watch = try? owner.loop.watch(stream.number, for: .readable) { [self] in ready($0) }
        guard watch != nil else {
            stream.close()
            return false
        }
        setTimer(at: lastActivity + limits.idle)
        continueReading()
        return true
    }

    private func ready(_ interest: Interest) {
        if !interest.isDisjoint(with: readNeeds), !isReadingOver { receive() }
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

    /// Does everything possible now, and watches the socket for the rest.
    private func settle() {
        repeat {
            handleMessages()
            flush()
        } while !isClosed && isWithinLimits && frames.hasMessage
        guard !isClosed else { return }
        frames.trim()
        let held = frames.count + outbound.count
        let change = held - booked
        booked = held
        guard owner.book(change) || change <= 0 else { return close() }
        if isReadingOver, outstanding == 0, outbound.isEmpty, !frames.hasMessage { return close() }
        var interest: Interest = []
        if !isReadingOver, isWithinLimits {
            interest.formUnion(readNeeds)
            continueReading()
        }
        if !outbound.isEmpty { interest.formUnion(writeNeeds) }
        watch?.update(interest)
    }

    /// Has what the stream holds back read after the other work of this turn.
    private func continueReading() {
        guard stream.hasUnread, !isContinuing else { return }
        isContinuing = true
        owner.loop.atTurnEnd { [weak self] in
            guard let self, !isClosed else { return }
            isContinuing = false
            ready(readNeeds)
        }
    }

    private func handleMessages() {
        isHandling = true
        defer { isHandling = false }
        while !isClosed, isWithinLimits {
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
        isReadingOver = true
    }

    private func handle(_ message: [UInt8]) {
        noteActivity()
        let (reply, isPending) = owner.handle(message, of: client)
        if let reply { queue(reply) }
        guard isPending else { return }
        outstanding += 1
        owner.ask(message, of: client, for: self)
    }

    private func noteActivity() {
        lastActivity = now
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
        if outbound.isEmpty { lastProgress = now }
        outbound.append(reply)
    }

    private func flush() {
        while !isClosed, !outbound.isEmpty {
            switch stream.write(outbound.unwritten) {
            case .moved(let count):
                writeNeeds = .writable
                outbound.removeFirst(count)
                lastProgress = now
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

    func close() {
        guard !isClosed else { return }
        isClosed = true
        watch?.cancel()
        watch = nil
        stream.close()
        timer?.cancel()
        timer = nil
        frames = FrameBuffer()
        outbound = OutboundBuffer()
        _ = owner.book(-booked)
        booked = 0
        owner.remove(self)
    }

    // MARK: Time-outs

    private func setTimer(at due: Instant) {
        // One timer that checks again costs less than one rescheduled by every query. It fires no later than the end of
        // a stall that begins now.
        let next = min(due, now + limits.stall)
        timer = owner.loop.schedule(at: next) { [weak self] in self?.checkTime() }
    }

    /// Closes a connection that was idle for too long, or whose client receives no responses.
    private func checkTime() {
        let due: Instant
        if !outbound.isEmpty {
            due = lastProgress + limits.stall
        } else if outstanding > 0 {
            due = now + limits.idle
        } else {
            due = lastActivity + limits.idle
        }
        if due <= now { close() } else { setTimer(at: due) }
    }
}
