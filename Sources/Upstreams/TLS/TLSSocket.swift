import Glibc
import Platform
import Scheduling

/// A socket to a service with TLS on it: connected, through a proxy's tunnel where there is one, then read and written.
@Loop
final class TLSSocket {
    /// What it brings.
    enum Event {
        /// The handshake is done: it may be written to.
        /// - Parameter isHTTP2: whether the server chose HTTP/2.
        case isReady(isHTTP2: Bool)
        /// What the server says; lent until the next event.
        case bytes(UnsafeRawBufferPointer)
    }

    private enum Phase {
        case connecting
        /// The proxy is asked for a tunnel.
        case tunnelling
        case shakingHands
        case ready
    }

    /// What passes through a socket within one call: all share the memory. Taken anew for each reading, so much at once would
    /// have the allocator tidy up each time.
    private final class Buffers {
        /// What is read.
        let input = UnsafeMutableRawBufferPointer.allocate(byteCount: readSize, alignment: 1)
        /// What that says.
        let plaintext = UnsafeMutableRawBufferPointer.allocate(byteCount: TLSChannel.recordSize, alignment: 1)
    }

    /// Bytes read from the socket at once.
    private nonisolated static let readSize = 16_384
    /// How often the socket is read before something else has its turn. What a server says costs up to 6 ms each time, if it
    /// only changes its keys (RFC 8446 section 4.6.3).
    private static let readLimit = 8
    private static let buffers = Buffers()

    let tls: TLSChannel
    private let origin: HTTPOrigin
    private var phase = Phase.connecting
    /// Nil once it is closed.
    private var descriptor: Descriptor?
    private var watch: Watch?
    private var tunnel: HTTPTunnel?
    /// Bytes that have come, without those of what the server says: TLS's own, and the beginning of a record whose end has
    /// not come.
    private var overhead = 0

    /// Begins to connect.
    ///
    /// - Parameters:
    ///   - host: the name's place in the origin's list.
    ///   - session: of an earlier connection under that name.
    /// - Throws: `HTTPFailure.overloaded` for want of descriptors or memory, `HTTPFailure.unusable` without authorities,
    ///   `HTTPFailure.network` when there is no way.
    init(to origin: HTTPOrigin, host: Int, resuming session: TLSSession?, at now: Instant) throws(HTTPFailure) {
        self.origin = origin
        let authorities = try TLSAuthorities.read(origin.caFile, at: now)
        tls = try TLSChannel(authorities, host: origin.hosts[host], session: session)
        descriptor = try HTTPSocket.connect(to: origin)
    }

    /// Has `handler` be called whenever `serve` is to be.
    ///
    /// - Throws: `HTTPFailure.overloaded` for want of memory.
    func watch(on loop: EventLoop, _ handler: @escaping @Loop (Interest) -> Void) throws(HTTPFailure) {
        guard let number = descriptor?.number else { return }
        do {
            watch = try loop.watch(number, for: .writable, handler)
        } catch {
            throw .overloaded("no socket for \(origin.addressText): \(error.reason)")
        }
    }

    var isOpen: Bool { descriptor != nil }

    /// Whether something has come that was not read yet.
    var hasUnread: Bool {
        guard let number = descriptor?.number else { return false }
        var byte: UInt8 = 0
        return recv(number, &byte, 1, Int32(MSG_PEEK | MSG_DONTWAIT)) > 0
    }

    /// Does what the socket is ready for, and hands over what that brings.
    ///
    /// - Throws: what `take` throws, and why the connection is of no use.
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
        guard getsockopt(number, SOL_SOCKET, SO_ERROR, &code, &length) == 0, code == 0 else {
            throw broken(SystemError(code: code, operation: "connect").description)
        }
        guard origin.proxy != nil else { return try shakeHands(take) }
        let tunnel = HTTPTunnel(to: origin.addressText)
        let request = tunnel.request
        // Few enough bytes for any socket.
        guard Glibc.send(number, request, request.count, Int32(MSG_NOSIGNAL)) == request.count else {
            throw broken("the proxy takes nothing")
        }
        self.tunnel = tunnel
        phase = .tunnelling
        watch?.update(.readable)
    }

    /// Takes the proxy's reply out of `bytes`, and begins the handshake when it has come as a whole.
    private func passTunnel(
        _ bytes: inout UnsafeRawBufferPointer, _ take: (Event) throws(HTTPEnd) -> Void
    ) throws(HTTPEnd) {
        let used = tunnel?.receive(bytes) ?? 0
        bytes = UnsafeRawBufferPointer(rebasing: bytes[used...])
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
        // Also what tells the other end why it failed.
        defer { sendPending() }
        let handshake: TLSChannel.Handshake
        do {
            handshake = try tls.shakeHands()
        } catch {
            if case .certificate = error { throw .refusedName(error) }
            throw .broken(error, wasReused: false)
        }
        guard case .isDone(let isHTTP2) = handshake else { return }
        try take(.isReady(isHTTP2: isHTTP2))
        phase = .ready
    }

    /// Whether it had worked before, whoever uses it finds for each request.
    private func broken(_ reason: String) -> HTTPEnd { .broken(.network(reason), wasReused: false) }

    // MARK: Bytes

    private func receive(_ take: (Event) throws(HTTPEnd) -> Void) throws(HTTPEnd) {
        let buffers = Self.buffers
        for _ in 0..<Self.readLimit {
            guard let number = descriptor?.number else { return }
            let count = recv(number, buffers.input.baseAddress, buffers.input.count, Int32(MSG_DONTWAIT))
            if count < 0 {
                if errno == EAGAIN || errno == EINTR { return }
                throw broken(SystemError.last("receive").description)
            }
            if count == 0 { throw broken("the connection was closed") }
            overhead += count
            var bytes = UnsafeRawBufferPointer(rebasing: UnsafeRawBufferPointer(buffers.input)[..<count])
            if phase == .tunnelling { try passTunnel(&bytes, take) }
            if phase != .tunnelling { try decrypt(bytes, into: buffers.plaintext, take) }
            if count < buffers.input.count { return }
        }
    }

    /// Takes what the network brought; `buffer` is for what it says.
    private func decrypt(
        _ bytes: UnsafeRawBufferPointer, into buffer: UnsafeMutableRawBufferPointer,
        _ take: (Event) throws(HTTPEnd) -> Void
    ) throws(HTTPEnd) {
        guard tls.receive(bytes) else { throw broken("no memory for TLS") }
        if phase == .shakingHands {
            guard overhead <= HTTPLimits.handshake else { throw broken("the server's handshake has no end") }
            try shakeHands(take)
        }
        while phase == .ready {
            let plaintext: TLSChannel.Plaintext
            do {
                plaintext = try tls.read(into: buffer)
            } catch {
                throw .broken(error, wasReused: false)
            }
            switch plaintext {
            case .bytes(let count):
                overhead -= count
                try take(.bytes(UnsafeRawBufferPointer(rebasing: UnsafeRawBufferPointer(buffer)[..<count])))
            case .nothing: return
            case .end: throw broken("the connection was closed")
            }
        }
    }

    /// How many bytes have come since this was last asked that are TLS's own. Less than none when a record that was counted
    /// before, for it had come in part, was read since.
    func takeOverhead() -> Int {
        defer { overhead = 0 }
        return overhead
    }

    /// Encrypts `bytes` and sends what the socket takes of that; only once it is ready.
    func write(_ bytes: [UInt8]) throws(HTTPFailure) {
        try tls.write(bytes)
        sendPending()
    }

    /// Whether something waits until the socket takes more.
    var isStuck: Bool { tls.pendingCount > 0 }

    /// Sends what TLS has to say, as far as the socket takes it; the rest when it takes more.
    func sendPending() {
        guard let number = descriptor?.number else { return }
        tls.sendPending { bytes in
            max(0, Glibc.send(number, bytes.baseAddress, bytes.count, Int32(MSG_NOSIGNAL)))
        }
        // Why it took less, reading will tell, if that is not for want of room.
        watch?.update(isStuck ? [.readable, .writable] : .readable)
    }

    /// - Parameter saysGoodbye: whether the server is told that nothing more comes.
    func close(saysGoodbye: Bool) {
        if saysGoodbye { tls.close() }
        sendPending()
        watch?.cancel()
        watch = nil
        descriptor = nil
    }
}
