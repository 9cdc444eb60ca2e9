import CCurl
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

    /// Memory of its own: taken anew for each reading, so much at once would have the allocator tidy up each time.
    private final class Buffer {
        let bytes: UnsafeMutableRawBufferPointer

        init(_ size: Int) { bytes = .allocate(byteCount: size, alignment: 1) }

        deinit { bytes.deallocate() }
    }

    /// Bytes read from the socket at once.
    private static let readSize = 16_384
    /// How often the socket is read before something else has its turn.
    private static let readLimit = 64
    /// Bytes of frames that are encrypted at once: what a TLS record holds.
    private static let recordSize = 16_384

    /// Its name in the origin's list.
    let host: Int
    private let origin: HTTPOrigin
    private let loop: EventLoop
    /// Closes all its connections before it goes.
    private unowned let connections: HTTP2Connections
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
    /// The first request since anything came: when it was sent, and what had been received by then.
    private var unanswered: (since: Instant, received: Int64)?
    /// Whether a request has been answered on it.
    private var hasServed = false
    /// What is read, and what that says.
    private let buffer = Buffer(2 * readSize)
    /// Frames on their way into TLS.
    private var frames: [UInt8] = []
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
        case .ready: session?.mayOpen == true && !isWorn(at: now)
        case .closed: false
        }
    }

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
            try send(transfer)
        } else {
            pending.append(transfer)
        }
        transfer.connection = self
    }

    private func send(_ transfer: HTTPTransfer) throws(HTTPFailure) {
        guard let session else { return }
        guard transfer.permit?() ?? true else { throw .withheld }
        let stream = HTTP2Stream(transfer, receivedBefore: received, at: loop.now)
        try session.open(
            stream, path: origin.basePath.isEmpty ? transfer.request.target : origin.basePath + transfer.request.target)
        stream.index = streams.count
        streams.append(stream)
        transfer.stream = stream
        lastUse = loop.now
        if received != unanswered?.received { unanswered = (loop.now, received) }
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
        let last = streams.removeLast()
        guard last !== stream else { return }
        streams[stream.index] = last
        last.index = stream.index
    }

    // MARK: Silence

    /// Whether anything has come since `stream`'s request was sent.
    func hasReceived(since stream: HTTP2Stream) -> Bool { received != stream.receivedBefore || hasUnread }

    /// Whether nothing at all has come since a request that was sent `limit` ago or earlier.
    ///
    /// Requests that were given up early, because another address answered, find a dead connection out this way too.
    func isSilent(for limit: Duration, at now: Instant) -> Bool {
        guard let unanswered, now - unanswered.since >= limit, isOpen else { return false }
        return received == unanswered.received && !hasUnread
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

    /// Breaks it, for it may lead nowhere.
    func evict() { close(.evicted(.network("the connection was given up"))) }

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
        } else if session?.isOver == true {
            close(broken(.network("the connection was closed")))
        } else {
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
        let input = UnsafeMutableRawBufferPointer(rebasing: buffer.bytes[..<Self.readSize])
        let plaintext = UnsafeMutableRawBufferPointer(rebasing: buffer.bytes[Self.readSize...])
        var rounds = 0
        while rounds < Self.readLimit, try receive(input, plaintext) { rounds += 1 }
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
        phase = .ready
        sendWaiting()
    }

    private func sendWaiting() {
        let waiting = pending
        pending = []
        for transfer in waiting {
            do {
                try send(transfer)
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
        do throws(HTTPFailure) {
            // What the socket does not take now must not pile up here: nghttp2 knows what is due first.
            while tls.pendingCount == 0 {
                frames.removeAll(keepingCapacity: true)
                try session.takeFrames(into: &frames, limit: Self.recordSize)
                if frames.isEmpty { break }
                try tls.write(frames)
                sendPending()
            }
            if session.isStuffed { throw .network("the server takes nothing any more") }
        } catch {
            return close(broken(error))
        }
        tellEnded()
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

    /// What it means that it broke.
    private func broken(_ failure: HTTPFailure) -> HTTPEnd { .broken(failure, wasReused: hasServed) }

    /// Tells the requests that have ended, for whatever reason but the connection's end.
    private func tellEnded() {
        let refused = refused
        self.refused = []
        for (transfer, failure) in refused where transfer.connection === self { transfer.take(.failed(failure)) }
        guard let ended = session?.takeEnded() else { return }
        // Telling one may have taken another one back.
        for (stream, code) in ended where stream.transfer.stream === stream {
            remove(stream)
            stream.transfer.stream = nil
            stream.transfer.connection = nil
            if let failure = stream.failure {
                stream.transfer.take(.failed(failure))
            } else if code == 0 {
                hasServed = true
                stream.transfer.take(.reply(stream.response))
            } else if code == HTTP2Session.refusedStream {
                stream.transfer.take(.unprocessed(.network(HTTP2Session.reason(code))))
            } else {
                stream.transfer.take(broken(.network(HTTP2Session.reason(code))))
            }
        }
    }

    /// Closes it, and tells all that are on it the same.
    private func close(_ end: HTTPEnd) {
        guard phase != .closed else { return }
        if phase == .ready {
            connections.keep(tls, for: host, verified: opened)
            if case .evicted = end {} else { tls.close() }
        }
        sendPending()
        phase = .closed
        watch?.cancel()
        watch = nil
        descriptor = nil
        connections.remove(self)
        let transfers = pending + streams.map(\.transfer)
        pending = []
        streams = []
        for transfer in transfers where transfer.connection === self { transfer.take(end) }
    }

    /// Closes it unless something is under way on it.
    func closeIfIdle() {
        if isIdle { close(.failed(.network("the connection was closed"))) }
    }

    /// Closes it whatever is under way: nobody is told any more.
    func abandon() {
        pending = []
        streams = []
        close(.evicted(.network("the connection was closed")))
    }
}
