import DNSWire
import HTTPDNS
import Platform

/// One connection to a service: by HTTP/2, as whose streams requests share it, or by HTTP/1.1 for one request at a time.
///
/// The end of a request is reported to it (`HTTPTransfer.attemptEnded`), but never inside `add` or `withdraw`.
@Loop
final class HTTPConnection {
    /// What is reported of it.
    enum Event {
        /// It is made, and what the server speaks.
        case isReady(isHTTP2: Bool)
        /// How many requests at once the server allows by HTTP/2.
        case allows(UInt32)
        /// Requests have ended, and others may have begun.
        case requestsEnded
        /// It is closed, and what its handshake left for the next one under the same name.
        case isClosed(TLSSession?)
    }

    /// The index of its name in `origin.hosts`.
    let host: Int
    /// Whether it is for one request.
    let isSeparate: Bool
    /// When its certificate was verified, or that of the connection whose session it resumed.
    private var verified: Instant
    private let origin: HTTPOrigin
    private let loop: EventLoop
    /// Called with each event; nil once the connection is closed.
    private var tell: (@Loop (HTTPConnection, Event) -> Void)?
    private let socket: ServiceSocket
    /// Set from when the connection is ready until it is closed.
    private var session: (any HTTPSession)?
    private let carried = CarriedRequests()
    /// Memory for streams that have ended, empty between two calls.
    private var ended: [HTTPSession.Ended] = []
    private var life: ConnectionLife
    /// Looks after that while there are requests.
    private var watchdog: LoopTimer?
    /// Whether a request has been answered on this connection.
    private var hasServed = false
    /// Whether it takes no further request, and closes when its requests have ended.
    private var isRetired = false
    private var willFlush = false

    /// Starts to connect. `tell` is called with each event, and retained until the last one. Throws
    /// `UpstreamFailure.overloaded` without descriptors or memory, `.unusable` without trust anchors, `.network` without a
    /// route.
    init(
        _ origin: HTTPOrigin, host: Int, isSeparate: Bool = false, resuming session: TLSSession?,
        offering protocols: [UInt8] = TLSChannel.http2, loop: EventLoop,
        tell: @escaping @Loop (HTTPConnection, Event) -> Void
    ) throws(UpstreamFailure) {
        self.origin = origin
        self.host = host
        self.isSeparate = isSeparate
        self.tell = tell
        self.loop = loop
        verified = session?.verified ?? loop.now
        life = ConnectionLife(since: loop.now)
        socket = try ServiceSocket(to: origin, host: host, resuming: session, at: loop.now, offering: protocols)
        try socket.watch(on: loop) { [self] ready in serve(ready) }
    }

    // MARK: Requests

    var isOpen: Bool { socket.isOpen }

    /// Whether a request may be added, sent now or when the connection is ready.
    func isUsable(at now: Instant) -> Bool {
        guard isOpen, !isRetired, !isDead(at: now) else { return false }
        guard let session else { return true }
        // By HTTP/1.1 what has come already would be taken for the reply.
        if isIdle, !session.pings, socket.hasUnread { return false }
        return session.mayOpen && !life.isWorn(isIdle: isIdle, at: now)
    }

    var requests: Int { carried.all.count }

    var isIdle: Bool { carried.all.isEmpty }

    /// Since when it has been idle; nil while it is not ready or has requests.
    var idleSince: Instant? { isIdle && session != nil ? life.heard : nil }

    /// Sends a request as soon as the connection is ready. Throws `UpstreamFailure.cancelled`, or `.network` without
    /// memory.
    func add(_ transfer: HTTPTransfer) throws(UpstreamFailure) {
        if isIdle { life.requestsBegin(at: loop.now) }
        if let session {
            try send(transfer, on: session)
        } else {
            carried.add(transfer)
        }
        if watchdog == nil { watchLife() }
    }

    private func send(_ transfer: HTTPTransfer, on session: any HTTPSession) throws(UpstreamFailure) {
        guard transfer.isPermitted || transfer.permit?() ?? true else { throw .cancelled }
        transfer.isPermitted = false
        let stream = HTTPStream(transfer.request, isDocument: origin.hasDocuments, at: loop.now)
        try session.open(stream, path: origin.target(of: transfer.request))
        carried.add(transfer, on: stream)
        flushLater()
    }

    /// Withdraws a request; if it was sent its stream is reset, or its connection closed that has no streams.
    func withdraw(_ transfer: HTTPTransfer) {
        let stream = carried.withdraw(transfer)
        guard isOpen else { return }
        if let stream {
            session?.reset(stream)
            if isRetired || session?.isOver == true { closeIfIdle() }
            tell?(self, .requestsEnded)
            flushLater()
        } else if isIdle, session == nil {
            // No request waits for it any more whose end would end it.
            close(.failed(.timeout))
        }
    }

    // MARK: Signs of life

    /// Reads bytes that were not read yet because the loop was busy: they may contain a reply.
    func readUnread() { if socket.hasUnread { serve(.readable) } }

    private func watchLife() {
        watchdog = loop.schedule(at: life.nextLook(at: loop.now)) { [self] in lookForLife() }
    }

    private func lookForLife() {
        watchdog = nil
        readUnread()
        guard isOpen, !isIdle else { return }
        // HTTP/1.1 has no PING: the kernel knows whether the request has arrived.
        let isLost = session?.pings == false && life.isSilent(at: loop.now) && socket.isUnacknowledged
        if isLost || isDead(at: loop.now) { return evict() }
        if life.isTestDue(at: loop.now) { test() }
        watchLife()
    }

    /// Sends a PING, unless one is unanswered, or the handshake has to show it.
    func test() {
        guard session?.pings != false, life.ask() else { return }
        session?.ping()
        flushLater()
    }

    private func isDead(at now: Instant) -> Bool { life.isOverdue(at: now) && !socket.hasUnread }

    /// Closes the connection, since it may be dead.
    func evict() { close(.evicted(.network("the connection was given up")), isGivenUp: true) }

    // MARK: The socket

    private func serve(_ ready: Interest) {
        if ready.contains(.readable) || session == nil { life.hear(at: loop.now) }
        let isWell = attempt { () throws(UpstreamFailure) in
            try socket.serve(ready) { event throws(UpstreamFailure) in
                switch event {
                case .isReady(let isHTTP2): try begin(isHTTP2: isHTTP2)
                case .bytes(let bytes): unsafe try session?.receive(bytes, at: loop.now)
                case .isEnded: session?.receiveEnd()
                }
            }
            if let session { try session.noteOverhead(socket.takeOverhead()) }
        }
        guard isWell else { return }
        if let session = session as? HTTP2Session { tell?(self, .allows(session.streamLimit)) }
        flushLater()
    }

    /// Uses the socket, and reports the requests that have ended by that. Returns false when it has failed: the connection is
    /// closed then.
    @discardableResult
    private func attempt(_ body: () throws(UpstreamFailure) -> Void) -> Bool {
        var loss: HTTPLoss?
        do throws(UpstreamFailure) {
            try body()
        } catch {
            loss = .broken(error)
            if case .certificate = error {
                loss = .refusedName(error, isTimeAlone: socket.tls?.isWrongInTimeAlone == true)
            }
        }
        tellEnded()
        if let loss { close(loss) }
        return loss == nil
    }

    /// Starts the session after the handshake, and sends the requests that waited for it: of several one alone by HTTP/1.1.
    private func begin(isHTTP2: Bool) throws(UpstreamFailure) {
        if let tls = socket.tls, !origin.pins.isEmpty, tls.pin.map(origin.pins.contains) != true {
            return close(.failed(.certificate("the certificate's key is not one of those in pin")))
        }
        let authority = origin.authority(host: host)
        let session: any HTTPSession =
            if isHTTP2 {
                try HTTP2Session(authority: authority, bodyLimit: origin.bodyLimit)
            } else {
                HTTP1Session(authority: authority, bodyLimit: origin.bodyLimit)
            }
        self.session = session
        life.connectionMade(at: loop.now)
        // Discards the handshake's bytes.
        _ = socket.takeOverhead()
        if socket.tls?.isResumed != true { verified = loop.now }
        tell?(self, .isReady(isHTTP2: isHTTP2))
        for transfer in carried.takeAll() {
            do throws(UpstreamFailure) {
                if session.mayOpen { try send(transfer, on: session) } else { carried.lose(transfer, .crowded) }
            } catch {
                carried.lose(transfer, .failed(error))
            }
        }
    }

    /// Sends at the end of the turn what the turn has queued, in as few records and segments as possible.
    private func flushLater() {
        guard !willFlush, session != nil else { return }
        willFlush = true
        loop.atTurnEnd { [self] in
            willFlush = false
            flush()
        }
    }

    private func flush() {
        guard let session else { return }
        attempt { () throws(UpstreamFailure) in
            try socket.write { frames throws(UpstreamFailure) in
                try session.takeFrames(into: &frames, limit: TLSChannel.recordSize)
            }
            if session.isStuffed { throw .network("the server takes nothing any more") }
            if session.isOver { throw .network("the connection was closed") }
        }
    }

    // MARK: Ends

    /// Reports the requests that have ended for any reason but the connection's end.
    private func tellEnded() {
        let hasLost = carried.reportLost()
        session?.takeEnded(into: &ended)
        for (stream, code) in ended {
            guard let transfer = carried.take(stream) else { continue }
            transfer.attemptEnded(end(of: stream, code))
        }
        if hasLost || !ended.isEmpty { tell?(self, .requestsEnded) }
        ended.removeAll(keepingCapacity: true)
        if isRetired, session != nil { closeIfIdle() }
    }

    private func end(of stream: HTTPStream, _ code: HTTP2Code) -> HTTPEnd {
        if let failure = stream.failure { return .failure(.failed(failure)) }
        if code == .none, stream.isAnswered {
            // The server had waited in vain, and said so before this request came (RFC 9110 section 15.5.9).
            guard stream.status != 408 else { return .failure(.broken(.network("HTTP 408"))) }
            hasServed = true
            return .success((stream.response, isHTTP2: session is HTTP2Session))
        }
        let isClosing = session?.isClosing != false
        // One that refuses all that it gets may be the only bad one.
        if code == .refusedStream || code == .enhanceYourCalm, isClosing || !hasServed { isRetired = true }
        return .failure(HTTPLoss(code, isClosing: isClosing))
    }

    /// Closes the connection, and reports the end to all its requests: of one that we give up, at the end of the turn.
    private func close(_ loss: HTTPLoss, isGivenUp: Bool = false) {
        guard isOpen else { return }
        carried.loseAll { self.loss(of: $0, with: loss) }
        let isMade = session.take() != nil
        let resumable = isMade ? socket.tls?.resumable(verified: verified) : nil
        socket.close(saysGoodbye: isMade && !isGivenUp)
        watchdog.take()?.cancel()
        tell.take()?(self, .isClosed(resumable))
        if isGivenUp { loop.atTurnEnd { [carried] in carried.reportLost() } } else { carried.reportLost() }
    }

    /// How a request ends when the connection does.
    private func loss(of transfer: HTTPTransfer, with loss: HTTPLoss) -> HTTPLoss {
        guard case .broken(let failure) = loss else { return loss }
        guard let stream = transfer.stream else { return .unmade(failure) }
        return session?.isSent(stream) == false ? .unprocessed(failure) : loss
    }

    /// Takes no further request, and closes when the current ones have ended; at once if it is not made yet.
    func retire() {
        // What waits for it was not sent, and goes on elsewhere.
        guard session != nil else { return close(.crowded, isGivenUp: true) }
        isRetired = true
        closeIfIdle()
    }

    func closeIfIdle() {
        if isIdle { close(.failed(.network("the connection was closed"))) }
    }
}
