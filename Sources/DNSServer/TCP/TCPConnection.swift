import DNSResolver
import DNSWire
import Platform

/// One client over TCP (RFC 7766) or TLS (RFC 7858): its queries are handled concurrently, and answered in the order in which answers arrive.
final class TCPConnection: OpenConnection {
    private let queries: ConnectionQueries
    private var frames = StreamBuffer()
    /// Whether no more is read although the client may be sending.
    private var isAbandoned = false

    init(
        _ stream: any ByteStream, client: ConnectionClient, _ queries: ConnectionQueries, in context: ConnectionContext
    ) {
        self.queries = queries
        super.init(stream, client: client, in: context)
    }

    override var hasRequest: Bool { frames.hasMessage }
    override var isReading: Bool { !isReadingOver && !isAbandoned && isWithinLimits && !frames.hasMessage }
    override var isOver: Bool { isAbandoned && isIdle }

    override func take(_ received: ArraySlice<UInt8>) { frames.append(received) }

    override var heldBySession: Int { frames.count }

    override func handleNext() -> Bool {
        switch frames.next() {
        case .incomplete: return false
        case .malformed:
            // Such a stream cannot be parsed; queries received before are still answered.
            frames = StreamBuffer()
            isAbandoned = true
            return false
        case .message(let message):
            handle(message)
            return true
        }
    }

    private func handle(_ message: [UInt8]) {
        noteActivity()
        let (reply, isPending) = queries.handle(message, of: client)
        if let reply { queue { outbound.append(message: reply) } }
        guard isPending else { return }
        outstanding += 1
        queries.ask(message, of: client, by: ObjectIdentifier(self)) { [self] reply in
            answer { outbound.append(message: reply) }
        }
    }

    override func finish() {
        isReadingOver = true
        settle()
    }

    override func discard() { frames = StreamBuffer() }

    // MARK: Another process

    /// Goes on where another process has left a connection, once it is admitted.
    func resume(input: [UInt8], output: [UInt8]) {
        frames.append(input[...])
        outbound = StreamBuffer(output)
        settle()
    }

    /// Stops, for another process to go on: gives up the socket, and what was not answered or not sent.
    ///
    /// - Parameter unanswered: the messages that wait for the resolver.
    /// - Returns: nil when the connection is closed, or encrypted: its keys stay here, and its client makes another.
    func handOver(unanswered: [[UInt8]]) -> UnfinishedWork.Connection? {
        guard !isClosed, let descriptor = (stream as? StreamSocket)?.release() else { return nil }
        var input = StreamBuffer()
        for message in unanswered { input.append(message: message) }
        defer { close() }
        return UnfinishedWork.Connection(
            socket: PassedDescriptor(descriptor, name: PassedKind.connection.rawValue), peer: client.address,
            input: Array(input.waiting + frames.waiting), output: Array(outbound.waiting))
    }
}
