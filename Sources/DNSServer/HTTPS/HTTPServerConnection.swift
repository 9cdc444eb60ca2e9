import DNSResolver
import Platform
import Scheduling

/// One client over HTTP, encrypted or not: its requests are handled concurrently over HTTP/2, and one after the other over
/// HTTP/1.1.
@Loop
final class HTTPServerConnection: ServedConnection {
    let client: ConnectionClient
    var ticket: FairShare.Ticket?
    private let stream: any ByteStream
    private let owner: Connections
    private let site: HTTPSite
    private let session: any HTTPServerSession
    private var life: ConnectionLife
    private var outbound = OutboundBuffer()
    /// Requests that wait for the resolver or a service, also those that the client has reset.
    private var outstanding = 0
    /// Whether the client has ended its side.
    private var isReadingOver = false
    /// Whether the server ends the connection, and not what the client has sent.
    private var isStopping = false
    /// What the socket must be ready for before more can be read, or written.
    private var (readNeeds, writeNeeds) = (Interest.readable, Interest.writable)
    /// Whether it waits for its turn to have more requests handled, or more read.
    private var isWaiting = false
    /// Whether requests are being handled right now; a response that comes meanwhile is only queued.
    private var isHandling = false
    /// When the next part of a body without an end is made.
    private var feedTimer: LoopTimer?

    /// - Parameters:
    ///   - alpn: the protocol that the handshake chose, `h2` or `http/1.1`; nil: the client named none, and gets HTTP/1.1.
    ///   - site: what is served.
    init(
        _ stream: any ByteStream, client: ConnectionClient, alpn: String?, at site: HTTPSite,
        in owner: Connections
    ) {
        self.site = site
        self.stream = stream
        self.client = client
        self.owner = owner
        session =
            (alpn == "h2" ? HTTP2ServerSession(in: site.sessions) : nil)
            ?? HTTP1ServerSession(header: site.header, date: site.date)
        life = ConnectionLife(at: owner.loop.now)
    }

    private var limits: ServerLimits { owner.limits }
    private var now: Instant { owner.loop.now }
    private var isClosed: Bool { life.isClosed }

    var isIdle: Bool { outstanding == 0 && outbound.isEmpty && !session.hasRequest && session.unsent == 0 }
    var lastActivity: Instant { life.lastActivity }
    var held: Int { life.held }

    /// Whether more requests of the client are handled for now.
    private var isWithinLimits: Bool {
        outstanding < limits.pendingPerConnection && outbound.count + session.unsent <= limits.queuedReplies
    }

    /// Whether more is read for now: not from a client that does not read itself. One that opens no window is read, since
    /// it can open it only so.
    private var isReading: Bool { !isReadingOver && outbound.isEmpty && !session.isSaturated }

    func start() -> Bool {
        guard life.watch(stream, owner, { [self] in ready($0) }) else { return false }
        setTimer(at: life.due(in: .idle, owner))
        settle()
        return !isClosed
    }

    private func ready(_ interest: Interest) {
        if !interest.isDisjoint(with: readNeeds), isReading { receive() }
        handleRequests()
        settle()
    }

    private func receive() {
        let (outcome, received) = owner.read(stream)
        switch outcome {
        case .moved:
            readNeeds = .readable
            site.updateDate()
            session.receive(received)
        case .waits(let needed): readNeeds = needed
        case .ended: isReadingOver = true
        case .failed: close()
        }
    }

    /// Sends what is possible now, and watches the socket, or waits for its turn, for the rest. Handles no request: a response
    /// may come while the resolver is at work, which then must not be asked.
    private func settle() {
        flush()
        guard !isClosed else { return }
        guard owner.book(life.hold(session.held + outbound.count), of: self) else { return close() }
        if outbound.isEmpty, session.isOver || isReadingOver && isIdle {
            return close(lingers: !isReadingOver && !isStopping)
        }
        waitForTurn()
        guard !isClosed else { return }
        var interest: Interest = []
        if isReading, !isWaiting || !session.hasRequest { interest.formUnion(readNeeds) }
        if !outbound.isEmpty { interest.formUnion(writeNeeds) }
        if life.watch?.update(interest) == false { close() }
    }

    /// Has what it has left handled, or read, in its turn.
    private func waitForTurn() {
        guard session.hasRequest && isWithinLimits || isReading && stream.hasUnread, !isWaiting else { return }
        isWaiting = owner.turns.wait(of: client) { [weak self] in
            guard let self, !isClosed else { return }
            isWaiting = false
            ready(session.hasRequest ? [] : readNeeds)
        }
        if !isWaiting { close() }
    }

    // MARK: Requests

    private func handleRequests() {
        isHandling = true
        defer { isHandling = false }
        for _ in 0..<HTTPServerLimits.handled {
            guard !isClosed, isWithinLimits, owner.turns.hasRoom, let stream = session.nextRequest() else { return }
            handle(stream)
        }
    }

    private func handle(_ stream: HTTPServerStream) {
        noteActivity()
        // Counted before it may be finished.
        outstanding += 1
        switch site.decide(stream.request, from: client.address) {
        case .query(let message, let queries, let isTrusted):
            answer(message, by: queries, isTrusted: isTrusted, on: stream)
        case .response(let response): finish(stream, response)
        case .other:
            let exchange = HTTPExchange(stream, on: self)
            site.serve(stream.request, from: client.address) { exchange.finish($0) }
        }
    }

    private func answer(
        _ message: [UInt8], by queries: ConnectionQueries, isTrusted: Bool, on stream: HTTPServerStream
    ) {
        var client = client
        if isTrusted { client.isTrusted = true }
        let (reply, isPending) = queries.handle(message, of: client)
        if isPending {
            queries.ask(message, of: client, for: HTTPExchange(stream, on: self))
        } else {
            finish(stream, reply.map { HTTPServerResponse(message: $0) } ?? HTTPServerResponse(.badRequest))
        }
    }

    private func noteActivity() {
        life.noteActivity(at: now)
        owner.used(self)
    }

    /// Queues the response to an outstanding request; drops it after the connection has closed.
    func finish(_ stream: HTTPServerStream, _ response: HTTPServerResponse) {
        outstanding -= 1
        guard !isClosed else { return }
        noteActivity()
        if outbound.isEmpty, session.unsent == 0 { life.noteProgress(at: now) }
        // What is answered at once has the date of when it was read.
        if !isHandling { site.updateDate() }
        session.respond(response, to: stream)
        if response.feed != nil { beginFeed() }
        if !isHandling { settle() }
    }

    // MARK: A body without an end

    /// Sends the first part.
    private func beginFeed() {
        guard let feed = session.feed else { return }
        session.continueFeed(feed.next())
        setFeedTimer(feed)
    }

    private func setFeedTimer(_ feed: HTTPServerFeed) {
        feedTimer = owner.loop.schedule(after: feed.interval) { [weak self] in self?.continueFeed() }
    }

    /// Sends the next part, once the client has received the one before.
    private func continueFeed() {
        guard !isClosed, let feed = session.feed else { return }
        setFeedTimer(feed)
        guard outbound.isEmpty, session.unsent == 0 else { return }
        life.noteProgress(at: now)
        session.continueFeed(feed.next())
        settle()
    }

    private func flush() {
        while !isClosed {
            if outbound.isEmpty { refill() }
            if outbound.isEmpty { return }
            switch stream.write(outbound.unwritten) {
            case .moved(let count):
                writeNeeds = .writable
                outbound.removeFirst(count)
                session.feed?.wasRead()
                // What is no response, such as the answer to a PING, is no progress while a response waits.
                if session.unsent == 0 { life.noteProgress(at: now) }
            case .waits(let needed):
                writeNeeds = needed
                return
            case .ended, .failed: return close()
            }
        }
    }

    /// Takes from the session what fits into few records of TLS.
    private func refill() {
        let before = session.unsent
        outbound.fill { session.takeOutput(into: &$0, limit: OutboundBuffer.chunk) }
        if session.unsent < before { life.noteProgress(at: now) }
    }

    func finish() {
        // It would never end.
        guard session.feed == nil else { return close() }
        isStopping = true
        session.finish()
        settle()
    }

    func close() { close(lingers: false) }

    /// - Parameter lingers: whether the client may still be sending, and is to receive its response all the same.
    private func close(lingers: Bool) {
        let socket = lingers ? stream.endOutput() : nil
        guard life.end(stream, owner) else { return }
        outbound = OutboundBuffer()
        feedTimer?.cancel()
        session.continueFeed(nil)
        owner.remove(self, leaving: socket)
    }

    // MARK: Time-outs

    private func setTimer(at due: Instant) { life.setTimer(at: due, owner) { [weak self] in self?.checkTime() } }

    private var phase: ConnectionLife.Phase {
        if session.feed?.isPatient == true { return .answering }
        if !outbound.isEmpty || session.unsent > 0 { return .reading }
        return outstanding > 0 || session.feed != nil ? .answering : .idle
    }

    /// Closes a connection that was idle for too long, or whose client receives no responses.
    private func checkTime() {
        let phase = phase
        let due = life.due(in: phase, owner)
        guard due <= now else { return setTimer(at: due) }
        if phase == .idle {
            // A client that sends a request meanwhile knows by this that it was not handled.
            session.finish()
            flush()
        }
        close()
    }
}

/// One request over HTTPS whose answer comes from the resolver or a service.
@Loop
private final class HTTPExchange: ReplySink {
    nonisolated let transport: Transport
    private let connection: HTTPServerConnection
    private let stream: HTTPServerStream
    private var isFinished = false

    init(_ stream: HTTPServerStream, on connection: HTTPServerConnection) {
        self.stream = stream
        self.connection = connection
        transport = connection.client.transport
    }

    func send(_ reply: [UInt8]) { finish(HTTPServerResponse(message: reply)) }

    /// Sends the response, the first time.
    func finish(_ response: HTTPServerResponse) {
        guard !isFinished else { return }
        isFinished = true
        connection.finish(stream, response)
    }
}
