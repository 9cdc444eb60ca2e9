import DNSWire
import Platform

/// A connection over which requests are answered, whatever it speaks: reads what may be handled, has it handled in its turn,
/// and writes what the client takes.
@Loop
class OpenConnection: ServedConnection {
    /// For how long the network may take of responses what their client has not read.
    private nonisolated static let untouched: Duration = .milliseconds(100)

    final let stream: any ByteStream
    final var outbound = StreamBuffer()
    /// Requests that wait for the resolver or a service, also those that the client has given up.
    final var outstanding = 0
    /// Whether the client has ended its side, or no more is to be read of it.
    final var isReadingOver = false
    /// Whether the server ends the connection, and not what the client has sent.
    final var isStopping = false
    /// What the socket must be ready for before more can be read, or written.
    private var (readNeeds, writeNeeds) = (Interest.readable, Interest.writable)
    /// Whether it waits for its turn to have more requests handled, or more read.
    private var isWaiting = false
    /// Whether requests are being handled right now; a response that comes meanwhile is only queued.
    private(set) final var isHandling = false
    /// When the responses that are not sent began to wait, and when the client last received part of them.
    private var (waitsSince, lastProgress): (Instant, Instant)

    init(_ stream: any ByteStream, client: ConnectionClient, in context: ConnectionContext) {
        self.stream = stream
        (waitsSince, lastProgress) = (context.loop.now, context.loop.now)
        super.init(stream.number, client, in: context)
    }

    // MARK: What differs

    /// Whether a whole request waits to be handled.
    var hasRequest: Bool { false }

    /// Whether more is read for now.
    var isReading: Bool { !isReadingOver }

    /// Whether the protocol says that nothing more is received, and nothing is left to send.
    var isOver: Bool { false }

    /// Bytes of responses that are not in `outbound` yet, such as those which the client's windows do not let through.
    var unsent: Int { 0 }

    /// Requests that are handled in one turn of the loop.
    var handledPerTurn: Int { .max }

    /// Takes received bytes.
    func take(_ received: ArraySlice<UInt8>) {}

    /// Handles the next request. Returns false when there is none.
    func handleNext() -> Bool { false }

    /// The bytes held for requests, and for responses that are not in `outbound`.
    var heldBySession: Int { 0 }

    /// Moves what is to be sent next into `outbound`, which is empty.
    func refill() {}

    /// Called when the client has been sent part of `outbound`.
    func wasWritten() {}

    /// Called once, when it has closed.
    func discard() {}

    // MARK: Reading

    /// Whether no query is outstanding, and no response unsent.
    final var isIdle: Bool { outstanding == 0 && !hasUnsent && !hasRequest }

    /// A client that has read a part of its responses has `rest` for the next one; one that has read none yields at once.
    override final var yields: Bool {
        guard hasUnsent else { return isIdle }
        return outstanding == 0 && (lastProgress < waitsSince + Self.untouched || now >= lastProgress + limits.rest)
    }

    private var hasUnsent: Bool { !outbound.isEmpty || unsent > 0 }

    /// Whether more requests of the client are handled for now.
    final var isWithinLimits: Bool {
        outstanding < limits.pendingPerConnection && outbound.count + unsent <= limits.queuedReplies
    }

    override final func begin() { settle() }

    override final func ready(_ interest: Interest) {
        if !interest.isDisjoint(with: readNeeds), isReading { receive() }
        handleRequests()
        settle()
    }

    private func receive() {
        let (outcome, received) = context.read(stream)
        switch outcome {
        case .moved:
            readNeeds = .readable
            take(received)
        case .waits(let needed): readNeeds = needed
        case .ended: isReadingOver = true
        case .failed: close()
        }
    }

    private func handleRequests() {
        isHandling = true
        defer { isHandling = false }
        for _ in 0..<handledPerTurn {
            guard !isClosed, isWithinLimits, context.turns.hasRoom, handleNext() else { return }
        }
    }

    /// Sends what is possible now, and watches the socket, or waits for its turn, for the rest. Handles no request: a response
    /// may come while the resolver is at work, which then must not be asked.
    final func settle() {
        flush()
        guard !isClosed else { return }
        book(heldBySession + outbound.count)
        guard !isClosed else { return }
        if outbound.isEmpty, isOver || isReadingOver && isIdle {
            return close(lingers: !isReadingOver && !isStopping)
        }
        waitForTurn()
        guard !isClosed else { return }
        var interest: Interest = []
        if isReading, !isWaiting || !hasRequest { interest.formUnion(readNeeds) }
        if !outbound.isEmpty { interest.formUnion(writeNeeds) }
        if watch?.update(interest) == false { close() }
    }

    /// Has what it has left handled, or read, in its turn.
    private func waitForTurn() {
        guard hasRequest && isWithinLimits || isReading && stream.hasUnread, !isWaiting else { return }
        isWaiting = context.turns.wait(of: ClientNetwork(client.address.ip)) { [weak self] in
            guard let self, !isClosed else { return }
            isWaiting = false
            ready(hasRequest ? [] : readNeeds)
        }
        if !isWaiting { close() }
    }

    // MARK: Writing

    /// Has the response to an outstanding request queued; drops it after the connection has closed.
    final func answer(_ write: () -> Void) {
        outstanding -= 1
        guard !isClosed else { return }
        noteActivity()
        queue(write)
        if !isHandling { settle() }
    }

    /// Has a response queued.
    final func queue(_ write: () -> Void) {
        if !hasUnsent { noteProgress() }
        write()
    }

    final func noteProgress() {
        if !hasUnsent { waitsSince = now }
        lastProgress = now
    }

    final func flush() {
        while !isClosed {
            if outbound.isEmpty { refill() }
            if outbound.isEmpty { return }
            switch stream.write(outbound.waiting) {
            case .moved(let count):
                writeNeeds = .writable
                outbound.removeFirst(count)
                wasWritten()
                // What is no response, such as the answer to a PING, is no progress while a response waits.
                if unsent == 0 { noteProgress() }
            case .waits(let needed):
                writeNeeds = needed
                return
            case .ended, .failed: return close()
            }
        }
    }

    // MARK: The end

    /// A connection is closed when its client receives no responses for too long, or asks nothing.
    override var due: Instant {
        if hasUnsent { return lastProgress + limits.stall }
        return (outstanding > 0 || hasRequest ? now : lastActivity) + limits.idle
    }

    override final func close() { close(lingers: false) }

    /// - Parameter lingers: whether the client may still be sending, and is to receive its response all the same.
    private func close(lingers: Bool) {
        let socket = lingers ? stream.endOutput() : nil
        guard end() else { return }
        stream.close()
        outbound = StreamBuffer()
        discard()
        tell?(self, .isClosed(leaving: socket))
    }
}
