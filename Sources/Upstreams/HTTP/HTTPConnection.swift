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

    /// The index of its name in `origin.hosts`.
    let host: Int
    /// When its certificate was verified, or that of the connection whose session it resumed.
    private var verified: Instant
    private let origin: HTTPOrigin
    private let loop: EventLoop
    /// Nil once the connection is closed: until then the two retain each other.
    private var owner: HTTPConnections?
    private let opened: Instant
    /// When a request was last sent, or anything was received.
    private var lastUse: Instant
    private let socket: ServiceSocket
    /// Set from when the connection is ready until it is closed.
    private var session: (any HTTPSession)?
    /// Requests that wait until the connection is ready.
    private var pending: [HTTPTransfer] = []
    private var exchanges: [(stream: HTTPStream, transfer: HTTPTransfer)] = []
    /// Memory for streams that have ended, empty between two calls.
    private var ended: [HTTPSession.Ended] = []
    /// The streams whose request had not been sent when the connection ended.
    private var unsent: [HTTPStream] = []
    /// Requests that could not be sent when the connection became ready, and why; not reported yet.
    private var refused: [(HTTPTransfer, HTTPEnd)] = []
    /// Whether the other end gives signs of life.
    private enum Sign {
        case given
        /// Its PING is not sent yet.
        case wanted
        case awaited(since: Instant)
    }

    private var sign = Sign.given
    /// How long it took to make the connection: some round trips.
    private var makingTime = Duration.zero
    /// Whether a request has been answered on this connection.
    private var hasServed = false
    /// Whether it takes no further request, and closes when its requests have ended.
    private var isRetired = false
    private var willFlush = false

    /// Starts to connect.
    ///
    /// - Throws: `UpstreamFailure.overloaded` without descriptors or memory, `UpstreamFailure.unusable` without trust anchors,
    ///   `UpstreamFailure.network` without a route.
    init(
        _ origin: HTTPOrigin, host: Int, resuming session: TLSSession?,
        offering protocols: TLSChannel.Protocols = .http2, of owner: HTTPConnections, loop: EventLoop
    ) throws(UpstreamFailure) {
        self.origin = origin
        self.host = host
        self.owner = owner
        self.loop = loop
        verified = session?.verified ?? loop.now
        opened = loop.now
        lastUse = loop.now
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

    /// Whether it has as many requests as the server allows at once.
    var isFull: Bool { owner.map { exchanges.count + pending.count >= $0.streamLimit } ?? true }

    /// Since when it has been idle; nil while it is not ready or has requests.
    var idleSince: Instant? { isIdle && session != nil ? lastUse : nil }

    /// Whether it has been unused, or has existed, for so long that no further request is sent on it.
    func isWorn(at now: Instant) -> Bool {
        (exchanges.isEmpty && now - lastUse >= .seconds(HTTPLimits.connectionIdle))
            || now - opened >= .seconds(HTTPLimits.connectionLifetime)
    }

    /// Whether it has no requests.
    var isIdle: Bool { exchanges.isEmpty && pending.isEmpty }

    /// Sends a request as soon as the connection is ready.
    ///
    /// - Throws: `UpstreamFailure.cancelled`, or `UpstreamFailure.network` without memory.
    func add(_ transfer: HTTPTransfer) throws(UpstreamFailure) {
        if let session {
            try send(transfer, on: session)
        } else {
            pending.append(transfer)
        }
        transfer.carrier = self
    }

    private func send(_ transfer: HTTPTransfer, on session: any HTTPSession) throws(UpstreamFailure) {
        guard transfer.isPermitted || transfer.permit?() ?? true else { throw .cancelled }
        transfer.isPermitted = false
        let stream = HTTPStream(transfer.request, isDocument: origin.hasDocuments, at: loop.now)
        try session.open(stream, path: origin.target(of: transfer.request))
        stream.index = exchanges.count
        transfer.slot = stream.index
        exchanges.append((stream, transfer))
        lastUse = loop.now
        flushLater()
    }

    /// Withdraws a request; if it was sent its stream is reset, or its connection closed that has no streams.
    func withdraw(_ transfer: HTTPTransfer) {
        transfer.carrier = nil
        let slot = transfer.slot.take()
        guard isOpen else { return }
        if let slot {
            session?.reset(exchanges[slot].stream)
            remove(at: slot)
            if isRetired || session?.isOver == true { closeIfIdle() }
            owner?.requestsEnded(on: self)
            flushLater()
        } else {
            pending.removeAll { $0 === transfer }
            // No request waits for it any more whose end would end it.
            if pending.isEmpty, session == nil { close(.failed(.timeout)) }
        }
    }

    private func remove(at slot: Int) {
        let last = exchanges.removeLast()
        guard slot < exchanges.count else { return }
        exchanges[slot] = last
        last.stream.index = slot
        last.transfer.slot = slot
    }

    /// The transfer of a stream; nil once that was withdrawn.
    private func transfer(of stream: HTTPStream) -> HTTPTransfer? {
        guard stream.index < exchanges.count, exchanges[stream.index].stream === stream else { return nil }
        return exchanges[stream.index].transfer
    }

    // MARK: Signs of life

    /// Reads bytes that were not read yet because the loop was busy: they may contain a reply.
    func readUnread() { if socket.hasUnread { serve(.readable) } }

    /// Sends a PING, unless one is unanswered, or the handshake has to show it.
    func test(_ transfer: HTTPTransfer) {
        guard case .given = sign else { return }
        guard let session else { return sign = .awaited(since: loop.now) }
        guard session.pings else { return }
        sign = .wanted
        session.ping()
        flushLater()
    }

    /// HTTP/1.1 has no PING: the kernel knows whether the request has arrived.
    func evictIfDead(_ transfer: HTTPTransfer) {
        guard isOpen else { return }
        if session?.pings ?? true ? isDead(at: loop.now) : socket.isUnacknowledged { evict() }
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
        if ready.contains(.readable) { lastUse = loop.now }
        if ready.contains(.readable) || session == nil { sign = .given }
        var end: HTTPEnd?
        do throws(HTTPEnd) {
            try socket.serve(ready) { event throws(HTTPEnd) in
                switch event {
                case .isReady(let isHTTP2): try begin(isHTTP2: isHTTP2)
                case .bytes(let bytes): unsafe try receive(bytes)
                case .isEnded: session?.receiveEnd()
                }
            }
            try noteOverhead()
        } catch {
            end = error
        }
        tellEnded()
        if let end {
            close(end)
        } else {
            if let session = session as? HTTP2Session { owner?.learn(streamLimit: session.streamLimit) }
            flushLater()
        }
    }

    /// Starts the session after the handshake, and sends the requests that waited for it: of several one alone by HTTP/1.1.
    private func begin(isHTTP2: Bool) throws(HTTPEnd) {
        if let tls = socket.tls, !origin.pins.isEmpty, tls.pin.map(origin.pins.contains) != true {
            throw .failed(.certificate("the certificate's key is not one of those in pin"))
        }
        let authority = origin.authority(host: host)
        let session: any HTTPSession
        do {
            session =
                if isHTTP2 {
                    try HTTP2Session(authority: authority, bodyLimit: origin.bodyLimit)
                } else {
                    HTTP1Session(authority: authority, bodyLimit: origin.bodyLimit)
                }
        } catch {
            throw .broken(error)
        }
        self.session = session
        makingTime = min(loop.now - opened, Self.longestSilence)
        // Discards the handshake's bytes.
        _ = socket.takeOverhead()
        if socket.tls?.isResumed != true { verified = loop.now }
        owner?.learn(isHTTP2: isHTTP2)
        let waiting = pending
        pending = []
        for transfer in waiting {
            do throws(UpstreamFailure) {
                guard session.mayOpen else {
                    refused.append((transfer, .crowded))
                    continue
                }
                try send(transfer, on: session)
            } catch {
                refused.append((transfer, .failed(error)))
            }
        }
    }

    private func receive(_ bytes: UnsafeRawBufferPointer) throws(HTTPEnd) {
        do {
            unsafe try session?.receive(bytes, at: loop.now)
        } catch {
            throw .broken(error)
        }
    }

    private func noteOverhead() throws(HTTPEnd) {
        guard let session else { return }
        do {
            try session.noteOverhead(socket.takeOverhead())
        } catch {
            throw .broken(error)
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
        var end: HTTPEnd?
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
            end = .broken(error)
        }
        swap(&frames, &Self.frames)
        tellEnded()
        if let end {
            close(end)
        } else if session.isOver {
            close(.broken(.network("the connection was closed")))
        }
    }

    // MARK: Ends

    /// Reports the requests that have ended for any reason but the connection's end.
    private func tellEnded() {
        if !refused.isEmpty { tellRefused() }
        if let session, session.hasEnded { tellEnded(of: session) }
        if isRetired, session != nil { closeIfIdle() }
    }

    private func tellRefused() {
        let refused = refused
        self.refused = []
        for (transfer, end) in refused where transfer.carrier === self { transfer.attemptEnded(end) }
        owner?.requestsEnded(on: self)
    }

    private func tellEnded(of session: any HTTPSession) {
        session.takeEnded(into: &ended)
        if ended.count > 1 { ended.sort(by: Self.isReportedFirst) }
        // One report may have withdrawn another request.
        for (stream, code) in ended {
            guard let transfer = transfer(of: stream) else { continue }
            remove(at: stream.index)
            (transfer.slot, transfer.carrier) = (nil, nil)
            transfer.attemptEnded(end(of: stream, code, transfer))
        }
        ended.removeAll(keepingCapacity: true)
        if !isRetired { owner?.requestsEnded(on: self) }
    }

    /// Refused requests are sent again before the requests that replace answered ones, and in their original order;
    /// otherwise some would be refused on one connection after another. nghttp2 reports streams in no order.
    private nonisolated static func isReportedFirst(_ left: HTTPSession.Ended, _ right: HTTPSession.Ended) -> Bool {
        let wasLeftRefused = left.code == .refusedStream
        guard wasLeftRefused == (right.code == .refusedStream) else { return wasLeftRefused }
        return left.stream.id < right.stream.id
    }

    private func end(of stream: HTTPStream, _ code: HTTP2Code, _ transfer: HTTPTransfer) -> HTTPEnd {
        if let failure = stream.failure { return .failed(failure) }
        if code == .none, stream.isAnswered {
            hasServed = true
            return .reply(stream.response, isHTTP2: session is HTTP2Session)
        }
        if code == .downgraded {
            transfer.isPermitted = true
            return .wantsHTTP1
        }
        let failure = UpstreamFailure.network(HTTP2Engine.reason(code))
        if code == .refusedStream {
            isRetired = true
            return .unprocessed(failure, tookOthers: hasServed || !exchanges.isEmpty)
        }
        return .broken(failure)
    }

    /// Closes the connection, and reports the end to all its requests.
    private func close(_ end: HTTPEnd, tellsLater: Bool = false) {
        guard isOpen else { return }
        var saysGoodbye = false
        if let session = session.take() {
            unsent = exchanges.map(\.stream).filter { !session.isSent($0) }
            if let tls = socket.tls { owner?.keep(tls, for: host, verified: verified) }
            if case .evicted = end {} else { saysGoodbye = true }
        }
        socket.close(saysGoodbye: saysGoodbye)
        owner.take()?.remove(self)
        if tellsLater {
            loop.atTurnEnd { [self] in tellAll(end) }
        } else {
            tellAll(end)
        }
    }

    private func tellAll(_ end: HTTPEnd) {
        let ended = exchanges.map { (transfer: $0.transfer, stream: Optional($0.stream)) } + pending.map { ($0, nil) }
        pending = []
        exchanges = []
        let unsent = unsent
        self.unsent = []
        for (transfer, stream) in ended where transfer.carrier === self {
            if case .broken(let failure) = end {
                let isUnsent = unsent.contains { $0 === stream }
                let ofUnsent = stream == nil ? .unmade(failure) : HTTPEnd.unprocessed(failure, tookOthers: hasServed)
                transfer.attemptEnded(stream == nil || isUnsent ? ofUnsent : end)
            } else {
                transfer.attemptEnded(end)
            }
        }
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

    /// Closes it when its requests have no receivers any more.
    func abandon() { close(.evicted(.network("the connection was closed"))) }
}
