import DNSResolver
import Platform
import Scheduling

/// One TCP client (RFC 7766): takes any number of queries at once, and replies as the answers come.
@Loop
final class TCPConnection: Sendable {
    let peer: SocketAddress
    /// Its place among all connections; nil before it has one and after it has closed.
    var ticket: FairShare.Ticket?
    private let connections: TCPConnections
    private let socket: StreamSocket
    private var watch: Watch?
    private var frames = FrameBuffer()
    private var outbound = OutboundBuffer()
    /// Queries that wait for the resolver.
    private var outstanding = 0
    /// Whether no more is read: the client has ended its side, or we stop.
    private var isReadingOver = false
    private var isClosed = false
    /// Whether messages are being handled right now; a reply that comes meanwhile is only queued.
    private var isHandling = false
    /// When the last whole query came, or the last reply to one was ready. Bytes of an unfinished query do not count.
    private var lastActivity: Instant
    /// When the client last took something of its replies.
    private var lastProgress: Instant
    private var timer: LoopTimer?
    /// Bytes booked with all connections.
    private var booked = 0

    init(_ socket: StreamSocket, peer: SocketAddress, in connections: TCPConnections) {
        self.socket = socket
        self.peer = peer
        self.connections = connections
        lastActivity = connections.loop.now
        lastProgress = connections.loop.now
    }

    private var limits: ServerLimits { connections.limits }
    private var now: Instant { connections.loop.now }

    /// Whether nothing would be lost by closing it: it has no query outstanding, and no reply to take.
    var isIdle: Bool { outstanding == 0 && outbound.isEmpty && !frames.hasMessage }

    /// Whether the client may send more for now.
    private var isWithinLimits: Bool {
        outstanding < connections.share && outbound.count <= limits.queuedReplies
    }

    /// Begins to read. Returns false when the event loop takes no more descriptors; the connection is closed then.
    func start() -> Bool {
        watch = try? connections.loop.watch(socket.number, for: .readable) { [self] in ready($0) }
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
        let (outcome, received) = connections.read(socket)
        switch outcome {
        case .moved: frames.append(received)
        case .wouldBlock: break
        case .ended: isReadingOver = true
        case .failed: close()
        }
    }

    /// Does all that can be done now, and waits for the rest.
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
        guard connections.book(change) || change <= 0 else { return close() }
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

    /// Reads no more of a stream that cannot be followed; what was asked before is still answered.
    private func abandonInput() {
        frames = FrameBuffer()
        isReadingOver = true
    }

    private func handle(_ message: [UInt8]) {
        noteActivity()
        let (reply, isPending) = connections.handle(message, of: self)
        if let reply { queue(reply) }
        guard isPending else { return }
        outstanding += 1
        connections.ask(message, of: self)
    }

    private func noteActivity() {
        lastActivity = now
        connections.used(self)
    }

    /// Takes the reply to an outstanding query. After the connection has closed it is dropped.
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

    /// Reads no more; closes when the last reply was taken, which may be at once.
    func finish() {
        isReadingOver = true
        settle()
    }

    /// Closes at once, whatever is outstanding. A second call does nothing.
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
        _ = connections.book(-booked)
        booked = 0
        connections.remove(self)
    }

    // MARK: Time-outs

    private func setTimer(at due: Instant) {
        // One timer that looks again costs less than one moved by every query. It never looks later than a stall could
        // have begun and become too long.
        let next = min(due, now + limits.stall)
        timer = connections.loop.schedule(at: next) { [weak self] in self?.checkTime() }
    }

    /// Closes a connection that was quiet for too long, or whose client takes no replies.
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
