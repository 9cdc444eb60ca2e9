import Glibc
import HTTPDNS
import Platform
import Scheduling

/// One connection to a service over TLS: made, shared by requests as HTTP/2 streams, and closed.
///
/// How a request ends is told to it (`HTTPTransfer.take`), but never inside `add` or `withdraw`.
@Loop
final class HTTP2Connection {
    private enum Phase {
        case connecting
        /// The proxy is asked for a tunnel.
        case tunnelling
        case shakingHands
        case ready
        case closed
    }

    /// What passes between a socket and HTTP/2 within one call: all connections share the memory. Taken anew for each reading,
    /// so much at once would have the allocator tidy up each time.
    private final class Buffers {
        /// What is read.
        let input = UnsafeMutableRawBufferPointer.allocate(byteCount: readSize, alignment: 1)
        /// What that says.
        let plaintext = UnsafeMutableRawBufferPointer.allocate(byteCount: recordSize, alignment: 1)
        /// Frames on their way into TLS.
        var frames: [UInt8] = []
    }

    /// Bytes read from the socket at once.
    private nonisolated static let readSize = 16_384
    /// How often the socket is read before something else has its turn.
    private static let readLimit = 64
    /// Bytes of frames that are encrypted at once: what a TLS record holds.
    private nonisolated static let recordSize = 16_384
    private static let buffers = Buffers()

    /// Its name in the origin's list.
    let host: Int
    /// When its certificate was looked at, or that of the connection whose session it took up.
    private var verified: Instant
    private let origin: HTTPOrigin
    private let loop: EventLoop
    /// Nil once it is closed: until then each keeps the other.
    private var connections: HTTP2Connections?
    private let opened: Instant
    /// When a request was last sent, or anything received.
    private var lastUse: Instant
    private var phase = Phase.connecting
    private var descriptor: Descriptor?
    private var watch: Watch?
    private var tunnel: HTTPTunnel?
    private let tls: TLSChannel
    /// Once it is ready.
    private var session: HTTP2Session?
    /// Requests that wait until it is ready.
    private var pending: [HTTPTransfer] = []
    private var streams: [HTTP2Stream] = []
    /// Requests that could not be sent when it was ready, and why; not told yet.
    private var refused: [(HTTPTransfer, HTTPFailure)] = []
    /// Bytes that have come.
    private var received: Int64 = 0
    private var silence = ConnectionSilence()
    /// Whether a request has been answered on it.
    private var hasServed = false
    /// Whether a request was refused on it that the server did nothing with: it takes no more.
    private var isRefusing = false
    /// Whether a request was queued that was not sent.
    private var hasNewRequests = false
    private var willFlush = false

    /// Begins to connect.
    ///
    /// - Throws: `HTTPFailure.overloaded` for want of descriptors or memory, `HTTPFailure.unusable` without authorities,
    ///   `HTTPFailure.network` when there is no way.
    init(
        _ origin: HTTPOrigin, host: Int, resuming session: TLSSession?, of connections: HTTP2Connections,
        loop: EventLoop
    ) throws(HTTPFailure) {
        self.origin = origin
        self.host = host
        self.connections = connections
        self.loop = loop
        verified = session?.verified ?? loop.now
        opened = loop.now
        lastUse = loop.now
        let authorities = try TLSAuthorities.read(origin.caFile, at: loop.now)
        tls = try TLSChannel(authorities, host: origin.hosts[host], session: session)
        let socket = try HTTPSocket.connect(to: origin)
        do {
            watch = try loop.watch(socket.number, for: .writable) { [self] ready in serve(ready) }
        } catch {
            throw .overloaded("no socket for \(origin.addressText): \(error.reason)")
        }
        descriptor = consume socket
    }

    // MARK: Requests

    var isOpen: Bool { phase != .closed }

    /// Whether a request may be sent on it, now or when it is ready.
    func isUsable(at now: Instant) -> Bool {
        switch phase {
        case .connecting, .tunnelling, .shakingHands: true
        case .ready: session?.mayOpen == true && !isRefusing && !isWorn(at: now)
        case .closed: false
        }
    }

    /// Whether it has as many requests as the server takes at once.
    var isFull: Bool { connections.map { streams.count + pending.count >= $0.streamLimit } ?? true }

    /// Since when it has nothing to do; nil while it has.
    var idleSince: Instant? { isIdle && phase == .ready ? lastUse : nil }

    /// Whether it was unused, or has lived, for so long that no further request goes out on it.
    func isWorn(at now: Instant) -> Bool {
        (streams.isEmpty && now - lastUse >= .seconds(HTTPLimits.connectionIdle))
            || now - opened >= .seconds(HTTPLimits.connectionLifetime)
    }

    /// Whether nothing is under way on it.
    var isIdle: Bool { streams.isEmpty && pending.isEmpty }

    /// Sends a request as soon as the connection is ready.
    ///
    /// - Throws: `HTTPFailure.withheld`, `HTTPFailure.network` without memory.
    func add(_ transfer: HTTPTransfer) throws(HTTPFailure) {
        if phase == .ready {
            try send(transfer, hasWaited: false)
        } else {
            pending.append(transfer)
        }
        transfer.connection = self
    }

    private func send(_ transfer: HTTPTransfer, hasWaited: Bool) throws(HTTPFailure) {
        guard let session else { return }
        guard transfer.isPermitted || transfer.permit?() ?? true else { throw .withheld }
        transfer.isPermitted = false
        let stream = HTTP2Stream(transfer, receivedBefore: received, hasWaited: hasWaited, at: loop.now)
        try session.open(stream, path: origin.target(of: transfer.request))
        stream.index = streams.count
        streams.append(stream)
        transfer.stream = stream
        lastUse = loop.now
        hasNewRequests = true
        flushLater()
    }

    /// Takes a request back; of one that was sent the stream is reset.
    func withdraw(_ transfer: HTTPTransfer) {
        transfer.connection = nil
        let stream = transfer.stream.take()
        guard isOpen else { return }
        if let stream {
            session?.reset(stream)
            remove(stream)
            flushLater()
        } else {
            pending.removeAll { $0 === transfer }
            // Nobody waits for it any more, and nobody watches its time.
            if pending.isEmpty, phase != .ready { close(.failed(.timeout)) }
        }
    }

    private func remove(_ stream: HTTP2Stream) {
        guard stream.index < streams.count, streams[stream.index] === stream else { return }
        let last = streams.removeLast()
        guard last !== stream else { return }
        streams[stream.index] = last
        last.index = stream.index
    }

    // MARK: Silence

    /// Whether anything has come since `stream`'s request was sent.
    func hasReceived(since stream: HTTP2Stream) -> Bool { received != stream.receivedBefore || hasUnread }

    /// Whether nothing at all has come since a request that was sent `limit` ago or earlier.
    func isSilent(for limit: Duration, at now: Instant) -> Bool {
        silence.hasLasted(limit, at: now) { isOpen && !hasUnread ? received : nil }
    }

    /// Whether something has come that was not read yet.
    private var hasUnread: Bool {
        guard let number = descriptor?.number else { return false }
        var byte: UInt8 = 0
        return recv(number, &byte, 1, Int32(MSG_PEEK | MSG_DONTWAIT)) > 0
    }

    /// Whether it has been in the making for so long.
    func isMaking(for time: Duration, at now: Instant) -> Bool {
        isOpen && phase != .ready && now - opened >= time
    }

    /// Breaks it, for it may lead nowhere. What is on it is told at the end of the turn.
    func evict() { close(.evicted(.network("the connection was given up")), tellsLater: true) }

    // MARK: The socket

    private func serve(_ ready: Interest) {
        var end: HTTPEnd?
        do throws(HTTPEnd) {
            if phase == .connecting {
                try finishConnecting()
            } else if ready.contains(.readable) {
                try receive()
            }
            if ready.contains(.writable) { sendPending() }
        } catch {
            end = error
        }
        tellEnded()
        if let end {
            close(end)
        } else {
            session.map { connections?.learn(streamLimit: $0.streamLimit) }
            flushLater()
        }
    }

    private func finishConnecting() throws(HTTPEnd) {
        guard let number = descriptor?.number else { return }
        var (code, length): (Int32, socklen_t) = (0, socklen_t(MemoryLayout<Int32>.size))
        guard getsockopt(number, SOL_SOCKET, SO_ERROR, &code, &length) == 0, code == 0 else {
            throw broken(.network(SystemError(code: code, operation: "connect").description))
        }
        guard origin.proxy != nil else { return try shakeHands() }
        let tunnel = HTTPTunnel(to: origin.addressText)
        phase = .tunnelling
        guard write(tunnel.request) else { throw broken(.network("the proxy takes nothing")) }
        self.tunnel = tunnel
        watch?.update(.readable)
    }

    /// Sends plain bytes that are few enough for any socket. Returns whether that was so.
    private func write(_ bytes: [UInt8]) -> Bool {
        guard let number = descriptor?.number else { return false }
        return Glibc.send(number, bytes, bytes.count, Int32(MSG_NOSIGNAL)) == bytes.count
    }

    private func receive() throws(HTTPEnd) {
        let buffers = Self.buffers
        var rounds = 0
        while rounds < Self.readLimit, try receive(buffers.input, buffers.plaintext) { rounds += 1 }
    }

    /// Reads the socket once.
    ///
    /// - Returns: whether there may be more.
    private func receive(
        _ input: UnsafeMutableRawBufferPointer, _ plaintext: UnsafeMutableRawBufferPointer
    ) throws(HTTPEnd) -> Bool {
        guard let number = descriptor?.number else { return false }
        let count = recv(number, input.baseAddress, input.count, Int32(MSG_DONTWAIT))
        if count < 0 {
            guard errno == EAGAIN || errno == EINTR else {
                throw broken(.network(SystemError.last("receive").description))
            }
            return false
        }
        if count == 0 { throw broken(.network("the connection was closed")) }
        received += Int64(count)
        lastUse = loop.now
        try take(UnsafeRawBufferPointer(rebasing: UnsafeRawBufferPointer(input)[..<count]), plaintext)
        return count == input.count
    }

    /// Takes what the network brought; `buffer` is for what it says.
    private func take(_ bytes: UnsafeRawBufferPointer, _ buffer: UnsafeMutableRawBufferPointer) throws(HTTPEnd) {
        var bytes = bytes
        if phase == .tunnelling {
            let used = tunnel?.receive(bytes) ?? 0
            bytes = UnsafeRawBufferPointer(rebasing: bytes[used...])
            switch tunnel?.state {
            case .isOpen?: break
            case .isRefused(let reason)?: throw broken(.network(reason))
            case .isUnderWay?, nil: return
            }
            tunnel = nil
            try shakeHands()
        }
        guard tls.receive(bytes) else { throw broken(.network("no memory for TLS")) }
        if phase == .shakingHands { try shakeHands() }
        if phase == .ready { try read(into: buffer) }
    }

    private func shakeHands() throws(HTTPEnd) {
        phase = .shakingHands
        // Also what tells the other end why it failed.
        defer { sendPending() }
        let handshake: TLSChannel.Handshake
        do {
            handshake = try tls.shakeHands()
        } catch {
            if case .certificate = error { throw .refusedName(error) }
            throw broken(error)
        }
        guard case .isDone(let isHTTP2) = handshake else { return }
        if !origin.pins.isEmpty, tls.pin.map(origin.pins.contains) != true {
            throw .failed(.certificate("the certificate's key is not one of those in pin"))
        }
        guard isHTTP2 else { throw .lacksHTTP2 }
        do {
            session = try HTTP2Session(authority: origin.authority(host: host))
        } catch {
            throw broken(error)
        }
        if !tls.isResumed { verified = loop.now }
        phase = .ready
        sendWaiting()
    }

    private func sendWaiting() {
        let waiting = pending
        pending = []
        for transfer in waiting {
            do {
                try send(transfer, hasWaited: true)
            } catch {
                refused.append((transfer, error))
            }
        }
    }

    private func read(into buffer: UnsafeMutableRawBufferPointer) throws(HTTPEnd) {
        guard let session else { return }
        do throws(HTTPFailure) {
            while true {
                switch try tls.read(into: buffer) {
                case .bytes(let count):
                    let bytes = UnsafeRawBufferPointer(rebasing: UnsafeRawBufferPointer(buffer)[..<count])
                    try session.receive(bytes, at: loop.now)
                case .nothing: return
                case .end: throw HTTPFailure.network("the connection was closed")
                }
            }
        } catch {
            throw broken(error)
        }
    }

    /// Sends at the end of the turn what the turn has brought: as few records and segments as it fits.
    private func flushLater() {
        guard !willFlush, phase == .ready else { return }
        willFlush = true
        loop.atTurnEnd { [self] in
            willFlush = false
            flush()
        }
    }

    private func flush() {
        guard phase == .ready, let session else { return }
        let buffers = Self.buffers
        // What reading has left there: TLS answers by itself.
        sendPending()
        var end: HTTPEnd?
        do throws(HTTPFailure) {
            // What the socket does not take now must not pile up here: nghttp2 knows what is due first.
            while tls.pendingCount == 0 {
                buffers.frames.removeAll(keepingCapacity: true)
                try session.takeFrames(into: &buffers.frames, limit: Self.recordSize)
                if buffers.frames.isEmpty { break }
                try tls.write(buffers.frames)
                sendPending()
            }
            if session.isStuffed { throw .network("the server takes nothing any more") }
            if hasNewRequests, !streams.isEmpty { silence.requestSent(at: loop.now, received: received) }
            hasNewRequests = false
        } catch {
            end = broken(error)
        }
        tellEnded()
        if let end {
            close(end)
        } else if session.isOver {
            close(broken(.network("the connection was closed")))
        }
    }

    private func sendPending() {
        guard let number = descriptor?.number else { return }
        tls.sendPending { bytes in
            max(0, Glibc.send(number, bytes.baseAddress, bytes.count, Int32(MSG_NOSIGNAL)))
        }
        // Why it took less, reading will tell, if that is not for want of room.
        watch?.update(tls.pendingCount == 0 ? .readable : [.readable, .writable])
    }

    // MARK: Ends

    /// Tells the requests that have ended, for whatever reason but the connection's end.
    private func tellEnded() {
        let refused = refused
        self.refused = []
        for (transfer, failure) in refused where transfer.connection === self { transfer.take(.failed(failure)) }
        guard var ended = session?.takeEnded() else { return }
        if ended.count > 1 { ended.sort(by: Self.isToldFirst) }
        // Telling one may have taken another one back.
        for (stream, code) in ended where stream.transfer.stream === stream {
            remove(stream)
            stream.transfer.stream = nil
            stream.transfer.connection = nil
            stream.transfer.take(end(of: stream, code))
        }
    }

    /// Who was refused goes out again before those who take the place of the answered, and in the same order as before:
    /// else some would be refused on one connection after the other. nghttp2 tells of them in no order.
    private nonisolated static func isToldFirst(_ left: HTTP2Session.Ended, _ right: HTTP2Session.Ended) -> Bool {
        let wasLeftRefused = left.code == HTTP2Session.refusedStream
        guard wasLeftRefused == (right.code == HTTP2Session.refusedStream) else { return wasLeftRefused }
        return left.stream.id < right.stream.id
    }

    private func end(of stream: HTTP2Stream, _ code: UInt32) -> HTTPEnd {
        if let failure = stream.failure { return .failed(failure) }
        if code == 0, stream.isComplete {
            hasServed = true
            return .reply(stream.response, isHTTP2: true)
        }
        let failure = HTTPFailure.network(HTTP2Session.reason(code))
        if code == HTTP2Session.refusedStream {
            isRefusing = true
            return .unprocessed(failure, tookOthers: hasServed || !streams.isEmpty)
        }
        return broken(failure, stream)
    }

    /// What it means that it broke, for a request on it or, with nil, one that was not sent.
    private func broken(_ failure: HTTPFailure, _ stream: HTTP2Stream? = nil) -> HTTPEnd {
        .broken(failure, wasReused: hasServed || stream?.hasWaited == false)
    }

    /// Closes it, and tells all that are on it.
    private func close(_ end: HTTPEnd, tellsLater: Bool = false) {
        guard isOpen else { return }
        if phase == .ready {
            connections?.keep(tls, for: host, verified: verified)
            if case .evicted = end {} else { tls.close() }
        }
        sendPending()
        phase = .closed
        watch?.cancel()
        watch = nil
        descriptor = nil
        connections.take()?.remove(self)
        if tellsLater {
            loop.atTurnEnd { [self] in tellAll(end) }
        } else {
            tellAll(end)
        }
    }

    private func tellAll(_ end: HTTPEnd) {
        let transfers = streams.map(\.transfer) + pending
        pending = []
        streams = []
        // The last one that is sent again comes first.
        for transfer in transfers.reversed() where transfer.connection === self {
            if case .broken(let failure, _) = end {
                transfer.take(broken(failure, transfer.stream))
            } else {
                transfer.take(end)
            }
        }
    }

    /// Closes it unless something is under way on it.
    func closeIfIdle() {
        if isIdle { close(.failed(.network("the connection was closed"))) }
    }

    /// Closes it when those who could be told are gone.
    func abandon() { close(.evicted(.network("the connection was closed"))) }
}
