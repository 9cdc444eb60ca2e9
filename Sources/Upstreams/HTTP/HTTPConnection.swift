import DNSWire
import HTTPDNS
import Platform
import Scheduling

/// One connection to a service: by HTTP/2, as whose streams requests share it, or by HTTP/1.1 for one request at a time.
///
/// The end of a request is reported to it (`HTTPTransfer.attemptEnded`), but never inside `add` or `withdraw`.
@Loop
final class HTTPConnection {
    /// Memory for frames on their way into TLS, shared by all connections.
    private static var frames: [UInt8] = []
    private static let longestSilence = HTTPLimits.silence * 2
    /// The time that a turn mostly takes at most.
    private static let turnTime: Duration = .milliseconds(20)

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
    private let opened: Instant
    /// When a request was last sent, or anything was received.
    private var lastUse: Instant
    private let socket: ServiceSocket
    /// Set from when the connection is ready until it is closed.
    private var session: (any HTTPSession)?
    /// Requests that wait until the connection is ready.
    private var pending: [HTTPTransfer] = []
    /// Those that were sent, each at the index of its stream.
    private var sent: [HTTPTransfer] = []
    /// Memory for streams that have ended, empty between two calls.
    private var ended: [HTTPSession.Ended] = []
    /// Requests that could not be sent when the connection became ready, or that its end has ended; not reported yet.
    private var lost: [(transfer: HTTPTransfer, loss: HTTPLoss)] = []
    /// Whether the other end gives signs of life.
    private enum Sign {
        case given
        /// Its PING is not sent yet.
        case wanted
        case awaited(since: Instant)
    }

    private var sign = Sign.given
    /// When anything was last received, or the first request was added.
    private var heard: Instant
    /// Set while there are requests.
    private var watchdog: LoopTimer?
    /// How long it took to make the connection: some round trips.
    private var makingTime = Duration.zero
    /// Whether a request has been answered on this connection.
    private var hasServed = false
    /// Whether it takes no further request, and closes when its requests have ended.
    private var isRetired = false
    private var willFlush = false

    /// Starts to connect.
    ///
    /// - Parameter tell: called with each event, and retained until the last one.
    /// - Throws: `UpstreamFailure.overloaded` without descriptors or memory, `UpstreamFailure.unusable` without trust anchors,
    ///   `UpstreamFailure.network` without a route.
    init(
        _ origin: HTTPOrigin, host: Int, isSeparate: Bool = false, resuming session: TLSSession?,
        offering protocols: TLSChannel.Protocols = .http2, loop: EventLoop,
        tell: @escaping @Loop (HTTPConnection, Event) -> Void
    ) throws(UpstreamFailure) {
        self.origin = origin
        self.host = host
        self.isSeparate = isSeparate
        self.tell = tell
        self.loop = loop
        verified = session?.verified ?? loop.now
        opened = loop.now
        (lastUse, heard) = (loop.now, loop.now)
        socket = try ServiceSocket(to: origin, host: host, resuming: session, at: loop.now, offering: protocols)
        try socket.watch(on: loop) { [self] ready in serve(ready) }
    }

    // MARK: Requests

    var isOpen: Bool { socket.isOpen }

    /// Whether a request may be added, sent now or when the connection is ready.
    func isUsable(at now: Instant) -> Bool {
        guard isOpen, !isRetired, !isDead(at: now) else { return false }
        guard let session else { return true }
        return session.mayOpen && !isWorn(at: now)
    }

    /// How many requests it has.
    var requests: Int { sent.count + pending.count }

    /// Since when it has been idle; nil while it is not ready or has requests.
    var idleSince: Instant? { isIdle && session != nil ? lastUse : nil }

    /// Whether it has been unused, or has existed, for so long that no further request is sent on it.
    func isWorn(at now: Instant) -> Bool {
        (sent.isEmpty && now - lastUse >= .seconds(HTTPLimits.connectionIdle))
            || now - opened >= .seconds(HTTPLimits.connectionLifetime)
    }

    /// Whether it has no requests.
    var isIdle: Bool { requests == 0 }

    /// Sends a request as soon as the connection is ready.
    ///
    /// - Throws: `UpstreamFailure.cancelled`, or `UpstreamFailure.network` without memory.
    func add(_ transfer: HTTPTransfer) throws(UpstreamFailure) {
        if isIdle { heard = loop.now }
        if let session {
            try send(transfer, on: session)
        } else {
            pending.append(transfer)
        }
        if watchdog == nil { watchSilence(for: HTTPLimits.test) }
    }

    private func send(_ transfer: HTTPTransfer, on session: any HTTPSession) throws(UpstreamFailure) {
        guard transfer.isPermitted || transfer.permit?() ?? true else { throw .cancelled }
        transfer.isPermitted = false
        let stream = HTTPStream(transfer.request, isDocument: origin.hasDocuments, at: loop.now)
        try session.open(stream, path: origin.target(of: transfer.request))
        stream.index = sent.count
        transfer.stream = stream
        sent.append(transfer)
        lastUse = loop.now
        flushLater()
    }

    /// Withdraws a request; if it was sent its stream is reset, or its connection closed that has no streams.
    func withdraw(_ transfer: HTTPTransfer) {
        lost.removeAll { $0.transfer === transfer }
        let stream = transfer.stream.take()
        guard isOpen else { return }
        if let stream {
            session?.reset(stream)
            remove(at: stream.index)
            if isRetired || session?.isOver == true { closeIfIdle() }
            tell?(self, .requestsEnded)
            flushLater()
        } else {
            pending.removeAll { $0 === transfer }
            // No request waits for it any more whose end would end it.
            if pending.isEmpty, session == nil { close(.failed(.timeout)) }
        }
    }

    private func remove(at index: Int) {
        let last = sent.removeLast()
        guard index < sent.count else { return }
        sent[index] = last
        last.stream?.index = index
    }

    // MARK: Signs of life

    /// Reads bytes that were not read yet because the loop was busy: they may contain a reply.
    func readUnread() { if socket.hasUnread { serve(.readable) } }

    private func watchSilence(for time: Duration) {
        watchdog = loop.schedule(after: time) { [self] in lookForLife() }
    }

    /// Tests a connection that is silent while requests wait: a slow service answers the test, so they stay; a dead one does
    /// not, and they are sent again.
    private func lookForLife() {
        watchdog = nil
        readUnread()
        guard isOpen, !isIdle else { return }
        let silence = loop.now - heard
        // HTTP/1.1 has no PING: the kernel knows whether the request has arrived.
        let isLost =
            session?.pings == false && silence >= HTTPLimits.test + HTTPLimits.silence && socket.isUnacknowledged
        if isLost || isDead(at: loop.now) { return evict() }
        guard case .given = sign else { return watchSilence(for: HTTPLimits.test) }
        guard silence >= HTTPLimits.test else { return watchSilence(for: HTTPLimits.test - silence) }
        test()
        // The PING is sent later in the turn.
        watchSilence(for: HTTPLimits.silence + Self.turnTime)
    }

    /// Sends a PING, unless one is unanswered, or the handshake has to show it.
    func test() {
        guard case .given = sign else { return }
        guard let session else { return sign = .awaited(since: loop.now) }
        guard session.pings else { return }
        sign = .wanted
        session.ping()
        flushLater()
    }

    /// Whether nothing has come for so long after that, on a long way for as long as it took to make the connection. One that
    /// is being made has twice the time: another one would hardly be made sooner.
    private func isDead(at now: Instant) -> Bool {
        let limit = session == nil ? Self.longestSilence : max(HTTPLimits.silence, makingTime)
        guard case .awaited(let since) = sign, now - since >= limit else { return false }
        return !socket.hasUnread
    }

    /// Closes the connection, since it may be dead. Its requests get their ends at the end of the turn.
    func evict() { close(.evicted(.network("the connection was given up")), tellsLater: true) }

    // MARK: The socket

    private func serve(_ ready: Interest) {
        if ready.contains(.readable) { (lastUse, heard) = (loop.now, loop.now) }
        if ready.contains(.readable) || session == nil { sign = .given }
        var loss: HTTPLoss?
        do throws(UpstreamFailure) {
            try socket.serve(ready) { event throws(UpstreamFailure) in
                switch event {
                case .isReady(let isHTTP2): try begin(isHTTP2: isHTTP2)
                case .bytes(let bytes): unsafe try session?.receive(bytes, at: loop.now)
                case .isEnded: session?.receiveEnd()
                }
            }
            if let session { try session.noteOverhead(socket.takeOverhead()) }
        } catch {
            loss =
                if case .certificate = error {
                    .refusedName(error, isTimeAlone: socket.tls?.isWrongInTimeAlone == true)
                } else {
                    .broken(error)
                }
        }
        tellEnded()
        if let loss {
            close(loss)
        } else {
            if let session = session as? HTTP2Session { tell?(self, .allows(session.streamLimit)) }
            flushLater()
        }
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
        makingTime = min(loop.now - opened, Self.longestSilence)
        // Discards the handshake's bytes.
        _ = socket.takeOverhead()
        if socket.tls?.isResumed != true { verified = loop.now }
        tell?(self, .isReady(isHTTP2: isHTTP2))
        let waiting = pending
        pending = []
        for transfer in waiting {
            do throws(UpstreamFailure) {
                guard session.mayOpen else {
                    lost.append((transfer, .crowded))
                    continue
                }
                try send(transfer, on: session)
            } catch {
                lost.append((transfer, .failed(error)))
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
        // TLS's own responses to received bytes.
        socket.sendPending()
        var loss: HTTPLoss?
        var frames: [UInt8] = []
        swap(&frames, &Self.frames)
        do throws(UpstreamFailure) {
            // Frames that the socket does not take now must not queue up there: nghttp2 knows their priority.
            while socket.pendingCount == 0 {
                frames.removeAll(keepingCapacity: true)
                try session.takeFrames(into: &frames, limit: TLSChannel.recordSize)
                if frames.isEmpty { break }
                try socket.write(frames)
            }
            // Not the turn's beginning, which may be long ago on a busy machine.
            if case .wanted = sign { sign = .awaited(since: .bootTime) }
            if session.isStuffed { throw .network("the server takes nothing any more") }
        } catch {
            loss = .broken(error)
        }
        swap(&frames, &Self.frames)
        tellEnded()
        if let loss {
            close(loss)
        } else if session.isOver {
            close(.broken(.network("the connection was closed")))
        }
    }

    // MARK: Ends

    /// Reports the requests that have ended for any reason but the connection's end.
    private func tellEnded() {
        if !lost.isEmpty {
            tellLost()
            tell?(self, .requestsEnded)
        }
        if let session, !session.ended.isEmpty { tellEnded(of: session) }
        if isRetired, session != nil { closeIfIdle() }
    }

    private func tellLost() {
        // One report may withdraw another request.
        while !lost.isEmpty {
            let (transfer, loss) = lost.removeFirst()
            transfer.stream = nil
            transfer.attemptEnded(.lost(loss))
        }
    }

    private func tellEnded(of session: any HTTPSession) {
        swap(&ended, &session.ended)
        if ended.count > 1 { ended.sort(by: Self.isReportedFirst) }
        // One report may have withdrawn another request.
        for (stream, code) in ended {
            guard stream.index < sent.count, sent[stream.index].stream === stream else { continue }
            let transfer = sent[stream.index]
            remove(at: stream.index)
            transfer.stream = nil
            transfer.attemptEnded(end(of: stream, code))
        }
        ended.removeAll(keepingCapacity: true)
        if !isRetired { tell?(self, .requestsEnded) }
    }

    /// Refused requests are sent again before the requests that replace answered ones, and in their original order;
    /// otherwise some would be refused on one connection after another. nghttp2 reports streams in no order.
    private nonisolated static func isReportedFirst(_ left: HTTPSession.Ended, _ right: HTTPSession.Ended) -> Bool {
        let wasLeftRefused = left.code == .refusedStream
        guard wasLeftRefused == (right.code == .refusedStream) else { return wasLeftRefused }
        return left.stream.id < right.stream.id
    }

    private func end(of stream: HTTPStream, _ code: HTTP2Code) -> HTTPEnd {
        if let failure = stream.failure { return .lost(.failed(failure)) }
        if code == .none, stream.isAnswered {
            hasServed = true
            return .reply(stream.response, isHTTP2: session is HTTP2Session)
        }
        if code == .downgraded { return .lost(.wantsHTTP1) }
        let failure = UpstreamFailure.network(HTTP2Engine.reason(code))
        guard code == .refusedStream || code == .enhanceYourCalm else { return .lost(.broken(failure)) }
        let isClosing = session?.isClosing != false
        // One that refuses all that it gets may be the only bad one.
        if isClosing || !hasServed { isRetired = true }
        return .lost(isClosing && code == .refusedStream ? .unprocessed(failure) : .refused(failure))
    }

    /// Closes the connection, and reports the end to all its requests.
    private func close(_ loss: HTTPLoss, tellsLater: Bool = false) {
        guard isOpen else { return }
        lost += (sent + pending).map { ($0, self.loss(of: $0, with: loss)) }
        sent = []
        pending = []
        var saysGoodbye = false
        var resumable: TLSSession?
        if session.take() != nil {
            resumable = socket.tls?.resumable(verified: verified)
            if case .evicted = loss {} else { saysGoodbye = true }
        }
        socket.close(saysGoodbye: saysGoodbye)
        watchdog.take()?.cancel()
        tell.take()?(self, .isClosed(resumable))
        if tellsLater {
            loop.atTurnEnd { [self] in tellLost() }
        } else {
            tellLost()
        }
    }

    /// How a request ends when the connection does.
    private func loss(of transfer: HTTPTransfer, with loss: HTTPLoss) -> HTTPLoss {
        guard case .broken(let failure) = loss else { return loss }
        guard let stream = transfer.stream else { return .unmade(failure) }
        return session?.isSent(stream) == false ? .unprocessed(failure) : loss
    }

    /// Takes no further request, and closes when the current ones have ended; at once if it is not made yet.
    func retire() {
        guard session != nil else { return evict() }
        isRetired = true
        closeIfIdle()
    }

    /// Closes it unless it has requests.
    func closeIfIdle() {
        if isIdle { close(.failed(.network("the connection was closed"))) }
    }
}
