import DNSResolver
import DNSWire
import Platform

/// One client over HTTP, encrypted or not: its requests are handled concurrently over HTTP/2, and one after the other over
/// HTTP/1.1.
final class HTTPServerConnection: OpenConnection {
    private let site: HTTPSite
    private let session: any HTTPServerSession
    /// When the next part of a body without an end is made.
    private var feedTimer: LoopTimer?

    /// - Parameter alpn: the protocol that the handshake chose, `h2` or `http/1.1`; nil: the client named none, and gets
    ///   HTTP/1.1.
    init(
        _ stream: any ByteStream, client: ConnectionClient, alpn: String?, at site: HTTPSite,
        in context: ConnectionContext
    ) {
        self.site = site
        session =
            (alpn == "h2" ? HTTP2ServerSession(in: site.shared) : nil)
            ?? HTTP1ServerSession(header: site.header, in: site.shared)
        super.init(stream, client: client, in: context)
    }

    override var hasRequest: Bool { session.hasRequest }
    /// Not from a client that does not read itself. One that opens no window is read, since it can open it only so.
    override var isReading: Bool { !isReadingOver && outbound.isEmpty && !session.isSaturated }
    override var isOver: Bool { session.isOver }
    override var unsent: Int { session.unsent }
    override var handledPerTurn: Int { HTTPServerLimits.handled }

    override func take(_ received: ArraySlice<UInt8>) {
        site.updateDate()
        session.receive(received)
    }

    override var heldBySession: Int { session.held }

    // MARK: Requests

    override func handleNext() -> Bool {
        guard let stream = session.nextRequest() else { return false }
        noteActivity()
        // Counted before it may be finished.
        outstanding += 1
        switch site.decide(stream.request, from: client.address) {
        case .query(let message, let queries, let isTrusted):
            ask(message, by: queries, isTrusted: isTrusted, on: stream)
        case .response(let response): finish(stream, response)
        case .other:
            context.turns.count()
            site.serve(stream.request, from: client.address) { [self] in finish(stream, $0) }
        }
        return true
    }

    private func ask(
        _ message: [UInt8], by queries: ConnectionQueries, isTrusted: Bool, on stream: HTTPServerStream
    ) {
        var client = client
        if isTrusted { client.isTrusted = true }
        let (reply, isPending) = queries.handle(message, of: client)
        if isPending {
            queries.ask(message, of: client) { [self] in finish(stream, HTTPServerResponse(message: $0)) }
        } else {
            finish(stream, reply.map { HTTPServerResponse(message: $0) } ?? HTTPServerResponse(.badRequest))
        }
    }

    /// Queues the response to an outstanding request, the first time; drops it after the connection has closed.
    private func finish(_ stream: HTTPServerStream, _ response: HTTPServerResponse) {
        guard !stream.isFinished else { return }
        stream.isFinished = true
        answer {
            // What is answered at once has the date of when it was read.
            if !isHandling { site.updateDate() }
            session.respond(response, to: stream)
            if response.feed != nil { beginFeed() }
        }
    }

    /// Takes from the session what fits into few records of TLS.
    override func refill() {
        let before = session.unsent
        outbound.fill { session.takeOutput(into: &$0, limit: StreamBuffer.chunk) }
        if session.unsent < before { noteProgress() }
    }

    override func wasWritten() { session.feed?.wasRead() }

    // MARK: A body without an end

    /// Sends the first part.
    private func beginFeed() {
        guard let feed = session.feed else { return }
        session.continueFeed(feed.next())
        setFeedTimer(feed)
    }

    private func setFeedTimer(_ feed: HTTPServerFeed) {
        feedTimer = context.loop.schedule(after: feed.interval) { [weak self] in self?.continueFeed() }
    }

    /// Sends the next part, once the client has received the one before.
    private func continueFeed() {
        guard !isClosed, let feed = session.feed else { return }
        setFeedTimer(feed)
        guard outbound.isEmpty, session.unsent == 0 else { return }
        noteProgress()
        session.continueFeed(feed.next())
        settle()
    }

    // MARK: The end

    override var due: Instant {
        guard let feed = session.feed, feed.isPatient || outbound.isEmpty && unsent == 0 else { return super.due }
        return now + limits.idle
    }

    override func expire() {
        if outbound.isEmpty, unsent == 0 {
            // A client that sends a request meanwhile knows by this that it was not handled.
            session.finish()
            flush()
        }
        close()
    }

    override func finish() {
        // It would never end.
        guard session.feed == nil else { return close() }
        isStopping = true
        session.finish()
        settle()
    }

    override func discard() {
        feedTimer?.cancel()
        session.continueFeed(nil)
    }
}
