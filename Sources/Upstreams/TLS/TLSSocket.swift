import DNSWire
import Glibc
import Platform
import Scheduling

/// A TLS connection to a service on its socket: connects, opens a proxy's tunnel if there is one, then reads and
/// writes.
@Loop
final class TLSSocket {
    /// What was received.
    @safe enum Event {
        /// The handshake is finished: data may be written.
        /// - Parameter isHTTP2: whether the server chose HTTP/2.
        case isReady(isHTTP2: Bool)
        /// Plaintext from the server, lent until the next event.
        case bytes(UnsafeRawBufferPointer)
    }

    private enum Phase {
        case connecting
        /// The `CONNECT` request was sent to the proxy.
        case tunnelling
        case shakingHands
        case ready
    }

    /// Memory for what passes through a socket within one call, shared by all sockets. Allocating so much for each read
    /// would make the allocator consolidate its free memory each time.
    @safe private final class Buffers {
        /// Bytes read from the socket.
        let input = UnsafeMutableRawBufferPointer.allocate(byteCount: readSize, alignment: 1)
        /// Their plaintext.
        let plaintext = UnsafeMutableRawBufferPointer.allocate(byteCount: TLSChannel.recordSize, alignment: 1)
    }

    /// Bytes per read of the socket.
    private nonisolated static let readSize = 16_384
    /// Reads of the socket before other events are served. The content of one read costs up to 6 ms, if the server only
    /// changes its keys (RFC 8446 section 4.6.3).
    private static let readLimit = 8
    private static let buffers = Buffers()

    let tls: TLSChannel
    private let origin: HTTPOrigin
    private var phase = Phase.connecting
    /// Nil once it is closed.
    private var descriptor: Descriptor?
    private var watch: Watch?
    private var tunnel: HTTPTunnel?
    /// Bytes received minus the plaintext among them: TLS's own, and the start of an incomplete record.
    private var overhead = 0

    /// Starts to connect.
    ///
    /// - Parameters:
    ///   - host: the index of the name in `origin.hosts`.
    ///   - session: of an earlier connection under that name.
    ///   - offersHTTP: whether HTTP is offered by ALPN.
    /// - Throws: `UpstreamFailure.overloaded` without descriptors or memory, `UpstreamFailure.unusable` without trust anchors,
    ///   `UpstreamFailure.network` without a route.
    init(
        to origin: HTTPOrigin, host: Int, resuming session: TLSSession?, at now: Instant, offersHTTP: Bool = true
    ) throws(UpstreamFailure) {
        self.origin = origin
        let authorities = try TLSAuthorities.read(origin.caFile, at: now)
        tls = try TLSChannel(authorities, host: origin.hosts[host], session: session, offersHTTP: offersHTTP)
        descriptor = try HTTPSocket.connect(to: origin)
    }

    /// Takes over a socket that connects to `origin`, as its first name; HTTP is offered.
    ///
    /// - Throws: `UpstreamFailure.unusable` without trust anchors, `UpstreamFailure.network` without memory.
    init(_ socket: consuming Descriptor, to origin: HTTPOrigin, at now: Instant) throws(UpstreamFailure) {
        self.origin = origin
        tls = try TLSChannel(TLSAuthorities.read(origin.caFile, at: now), host: origin.hosts[0], session: nil)
        descriptor = consume socket
    }

    /// Registers `handler`, called whenever `serve` is to be called.
    ///
    /// - Throws: `UpstreamFailure.overloaded` without memory.
    func watch(on loop: EventLoop, _ handler: @escaping @Loop (Interest) -> Void) throws(UpstreamFailure) {
        guard let number = descriptor?.number else { return }
        do {
            watch = try loop.watch(number, for: .writable, handler)
        } catch {
            throw .overloaded("no socket for \(origin.addressText): \(error.reason)")
        }
    }

    var isOpen: Bool { descriptor != nil }

    /// Whether the socket has unread bytes.
    var hasUnread: Bool {
        guard let number = descriptor?.number else { return false }
        var byte: UInt8 = 0
        return unsafe recv(number, &byte, 1, Int32(MSG_PEEK | MSG_DONTWAIT)) > 0
    }

    /// Does what the socket is ready for, and passes the events to `take`.
    ///
    /// - Throws: what `take` throws, or why the connection has failed.
    func serve(_ ready: Interest, _ take: (Event) throws(HTTPEnd) -> Void) throws(HTTPEnd) {
        if phase == .connecting {
            try finishConnecting(take)
        } else if ready.contains(.readable) {
            try receive(take)
        }
        if ready.contains(.writable) { sendPending() }
    }

    // MARK: Making it

    private func finishConnecting(_ take: (Event) throws(HTTPEnd) -> Void) throws(HTTPEnd) {
        guard let number = descriptor?.number else { return }
        var (code, length): (Int32, socklen_t) = (0, socklen_t(MemoryLayout<Int32>.size))
        guard unsafe getsockopt(number, SOL_SOCKET, SO_ERROR, &code, &length) == 0, code == 0 else {
            throw broken(SystemError(code: code, operation: "connect").description)
        }
        guard origin.proxy != nil else { return try shakeHands(take) }
        let tunnel = HTTPTunnel(to: origin.addressText)
        let request = tunnel.request
        // So few bytes fit into any socket's buffer.
        guard unsafe Glibc.send(number, request, request.count, Int32(MSG_NOSIGNAL)) == request.count else {
            throw broken("the proxy takes nothing")
        }
        self.tunnel = tunnel
        phase = .tunnelling
        watch?.update(.readable)
    }

    /// Parses the proxy's reply from `bytes`, and starts the handshake once it is complete.
    private func passTunnel(
        _ bytes: inout UnsafeRawBufferPointer, _ take: (Event) throws(HTTPEnd) -> Void
    ) throws(HTTPEnd) {
        let used = unsafe tunnel?.receive(bytes) ?? 0
        unsafe bytes = unsafe UnsafeRawBufferPointer(rebasing: bytes[used...])
        switch tunnel?.state {
        case .isOpen?:
            tunnel = nil
            try shakeHands(take)
        case .isRefused(let reason)?: throw broken(reason)
        case .isUnderWay?, nil: break
        }
    }

    private func shakeHands(_ take: (Event) throws(HTTPEnd) -> Void) throws(HTTPEnd) {
        phase = .shakingHands
        // Also sends the alert that says why the handshake failed.
        defer { sendPending() }
        let handshake: TLSChannel.Handshake
        do {
            handshake = try tls.shakeHands()
        } catch {
            if case .certificate = error { throw .refusedName(error, isTimeAlone: tls.isWrongInTimeAlone) }
            throw .broken(error)
        }
        guard case .isDone(let isHTTP2) = handshake else { return }
        try take(.isReady(isHTTP2: isHTTP2))
        phase = .ready
    }

    private func broken(_ reason: String) -> HTTPEnd { .broken(.network(reason)) }

    // MARK: Bytes

    private func receive(_ take: (Event) throws(HTTPEnd) -> Void) throws(HTTPEnd) {
        let buffers = Self.buffers
        for _ in 0..<Self.readLimit {
            guard let number = descriptor?.number else { return }
            let count = unsafe recv(number, buffers.input.baseAddress, buffers.input.count, Int32(MSG_DONTWAIT))
            if count < 0 {
                if errno == EAGAIN || errno == EINTR { return }
                throw broken(SystemError.last("receive").description)
            }
            if count == 0 { throw broken("the connection was closed") }
            overhead += count
            var bytes = unsafe UnsafeRawBufferPointer(rebasing: UnsafeRawBufferPointer(buffers.input)[..<count])
            if phase == .tunnelling { unsafe try passTunnel(&bytes, take) }
            if phase != .tunnelling { unsafe try decrypt(bytes, into: buffers.plaintext, take) }
            if unsafe count < buffers.input.count { return }
        }
    }

    /// Decrypts bytes from the network; `buffer` is for the plaintext.
    private func decrypt(
        _ bytes: UnsafeRawBufferPointer, into buffer: UnsafeMutableRawBufferPointer,
        _ take: (Event) throws(HTTPEnd) -> Void
    ) throws(HTTPEnd) {
        guard unsafe tls.receive(bytes) else { throw broken("no memory for TLS") }
        if phase == .shakingHands {
            guard overhead <= HTTPLimits.handshake else { throw broken("the server's handshake has no end") }
            try shakeHands(take)
        }
        while phase == .ready {
            let plaintext: TLSChannel.Plaintext
            do {
                plaintext = unsafe try tls.read(into: buffer)
            } catch {
                throw .broken(error)
            }
            switch plaintext {
            case .bytes(let count):
                overhead -= count
                unsafe try take(.bytes(UnsafeRawBufferPointer(rebasing: UnsafeRawBufferPointer(buffer)[..<count])))
            case .nothing: return
            case .end: throw broken("the connection was closed")
            }
        }
    }

    /// Bytes of TLS's own received since the last call. Negative when a record was completed whose beginning was
    /// counted before.
    func takeOverhead() -> Int {
        defer { overhead = 0 }
        return overhead
    }

    /// Encrypts `bytes` and sends as much as the socket takes; only after `.isReady`.
    func write(_ bytes: [UInt8]) throws(UpstreamFailure) {
        try tls.write(bytes)
        sendPending()
    }

    /// Whether encrypted bytes wait until the socket takes more.
    var isStuck: Bool { tls.pendingCount > 0 }

    /// Sends TLS's pending bytes as far as the socket takes them; the rest when it takes more.
    func sendPending() {
        guard let number = descriptor?.number else { return }
        unsafe tls.sendPending { bytes in
            unsafe max(0, Glibc.send(number, bytes.baseAddress, bytes.count, Int32(MSG_NOSIGNAL)))
        }
        // If the socket took less for another reason than a full buffer, the next read reports it.
        watch?.update(isStuck ? [.readable, .writable] : .readable)
    }

    /// - Parameter saysGoodbye: whether close_notify is sent.
    func close(saysGoodbye: Bool) {
        if saysGoodbye { tls.close() }
        sendPending()
        watch?.cancel()
        watch = nil
        descriptor = nil
    }
}
