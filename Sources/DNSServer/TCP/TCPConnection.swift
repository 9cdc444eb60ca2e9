import DNSResolver
import Platform
import Scheduling

/// What TCP connections share, and what they report.
@Loop
protocol TCPConnectionOwner: AnyObject, Sendable {
    var loop: EventLoop { get }
    var limits: ServerLimits { get }

    /// Reads from a socket; the slice has the bytes read.
    func read(_ socket: StreamSocket) -> (StreamSocket.Outcome, ArraySlice<UInt8>)

    /// Answers a message, or says that the resolver must be asked.
    ///
    /// - Returns: the response; nil with `isPending` true when it comes later, with `isPending` false when there is
    ///   none.
    func handle(_ message: [UInt8], of connection: TCPConnection) -> (reply: [UInt8]?, isPending: Bool)

    /// Asks the resolver; the response is passed to `connection.send`, perhaps before this returns.
    func ask(_ message: [UInt8], of connection: TCPConnection)

    /// Adds a change in the bytes buffered by one connection. Returns whether all connections together are within the
    /// limit.
    func book(_ change: Int) -> Bool

    /// Notes that a query arrived by the connection, or that a response to one is ready.
    func used(_ connection: TCPConnection)

    /// Removes a connection that has closed.
    func remove(_ connection: TCPConnection)
}

/// One TCP client (RFC 7766): its queries are handled concurrently, and answered in the order in which answers arrive.
@Loop
final class TCPConnection: ReplySink {
    let peer: SocketAddress
    /// Its place among all connections; nil before it is admitted and after it has closed.
    var ticket: FairShare.Ticket?
    private let owner: any TCPConnectionOwner
    private let socket: StreamSocket
    private var watch: Watch?
    private var frames = FrameBuffer()
    private var outbound = OutboundBuffer()
    /// Queries that wait for the resolver.
    private var outstanding = 0
    /// Whether no more is read: the client has ended its side, or the server stops.
    private var isReadingOver = false
    private var isClosed = false
    /// Whether messages are being handled right now; a response that comes meanwhile is only queued.
    private var isHandling = false
    /// When the last whole query arrived, or the last response became ready. Bytes of an unfinished query do not count.
    private var lastActivity: Instant
    /// When the client last received part of its responses.
    private var lastProgress: Instant
    private var timer: LoopTimer?
    /// Bytes added to the total of all connections.
    private var booked = 0

    init(_ socket: StreamSocket, peer: SocketAddress, in owner: any TCPConnectionOwner) {
        self.socket = socket
        self.peer = peer
        self.owner = owner
        lastActivity = owner.loop.now
        lastProgress = owner.loop.now
    }

    private var limits: ServerLimits { owner.limits }
    private var now: Instant { owner.loop.now }

    /// Whether closing it loses nothing: no query is outstanding, and no response unsent.
    var isIdle: Bool { outstanding == 0 && outbound.isEmpty && !frames.hasMessage }

    /// Whether more queries of the client are handled for now.
    private var isWithinLimits: Bool {
        outstanding < limits.pendingPerConnection && outbound.count <= limits.queuedReplies
    }

    /// Begins to read. Returns false when the event loop accepts no more descriptors; the connection is closed then.
    func start() -> Bool {
        watch = try? owner.loop.watch(socket.number, for: .readable) { [self] in ready($0) }
        guard watch != nil else {
            socket.close()
            return false
        }
        setTimer(at: lastActivity + limits.idle)
        return true
    }

    private func ready(_ interest: Interest) {
        if interest.contains(.readable), !isReadingOver { receive() }
        settle()
    }

    private func receive() {
        let (outcome, received) = owner.read(socket)
        switch outcome {
        case .moved: frames.append(received)
        case .wouldBlock: break
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
        if !isReadingOver, isWithinLimits { interest.insert(.readable) }
        if !outbound.isEmpty { interest.insert(.writable) }
        watch?.update(interest)
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
        let (reply, isPending) = owner.handle(message, of: self)
        if let reply { queue(reply) }
        guard isPending else { return }
        outstanding += 1
        owner.ask(message, of: self)
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
            switch socket.write(outbound.unwritten) {
            case .moved(let count):
                outbound.removeFirst(count)
                lastProgress = now
            case .wouldBlock: return
            case .ended, .failed: return close()
            }
        }
    }

    /// Reads no more; closes when the last response was received, which may be at once.
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
    /// - Returns: nil when the connection is closed.
    func handOver(unanswered: [[UInt8]]) -> UnfinishedWork.Connection? {
        guard !isClosed, let descriptor = socket.release() else { return nil }
        var input = OutboundBuffer()
        for message in unanswered { input.append(message) }
        defer { close() }
        return UnfinishedWork.Connection(
            socket: PassedDescriptor(descriptor, name: PassedKind.connection.rawValue), peer: peer,
            input: Array(input.unwritten) + frames.rest, output: Array(outbound.unwritten))
    }

    /// Closes at once, even with queries outstanding. A second call does nothing.
    func close() {
        guard !isClosed else { return }
        isClosed = true
        watch?.cancel()
        watch = nil
        socket.close()
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
