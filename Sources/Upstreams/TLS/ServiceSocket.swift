import CSystem.Linux
import DNSWire
import Glibc
import Platform

/// A connection to a service on its socket, by TLS or plainly: connects, opens a proxy's tunnel if there is one, then reads
/// and writes.
@Loop
final class ServiceSocket {
    /// What was received.
    @safe enum Event {
        /// Data may be written: a TLS handshake is finished.
        /// - Parameter isHTTP2: whether the server chose HTTP/2.
        case isReady(isHTTP2: Bool)
        /// Plaintext from the server, lent until the next event.
        case bytes(UnsafeRawBufferPointer)
        /// The server sends no more, and says so: by TLS with close_notify.
        case isEnded
    }

    private enum Phase {
        case connecting
        /// The `CONNECT` request was sent to the proxy.
        case tunnelling
        case shakingHands
        case ready
    }

    /// Bytes per read of the socket.
    private nonisolated static let readSize = 16_384
    /// Reads of the socket before other events are served. The content of one read costs up to 6 ms, if the server only
    /// changes its keys (RFC 8446 section 4.6.3).
    private static let readLimit = 8
    /// Memory for what passes through a socket within one call, read and decrypted, shared by all sockets. Allocating so much
    /// for each read would make the allocator consolidate its free memory each time.
    private static let input = UnsafeMutableRawBufferPointer.allocate(byteCount: readSize, alignment: 1)
    private static let plaintext = UnsafeMutableRawBufferPointer.allocate(
        byteCount: TLSChannel.recordSize, alignment: 1)
    /// Memory for what is to be encrypted, empty between two calls.
    private static var outgoing: [UInt8] = []

    /// Nil: without TLS.
    let tls: TLSChannel?
    /// What it leads to, for logs.
    private let place: String
    private var phase = Phase.connecting
    /// Nil once it is closed.
    private var descriptor: Descriptor?
    private var watch: Watch?
    private var tunnel: HTTPTunnel?
    /// Without TLS: what waits until the socket takes more.
    private var unsent: [UInt8] = []
    /// Bytes received minus the plaintext among them: TLS's own, and the start of an incomplete record.
    private var overhead = 0

    /// Starts to connect, under the name of this index in `origin.hosts`, whose session may be resumed: by TLS to an origin
    /// of https, else plainly. ALPN offers the protocols. Throws `UpstreamFailure.overloaded` without descriptors or
    /// memory, `.unusable` without trust anchors, `.network` without a route.
    init(
        to origin: HTTPOrigin, host: Int, resuming session: TLSSession?, at now: Instant,
        offering protocols: [UInt8]
    ) throws(UpstreamFailure) {
        tls =
            origin.scheme == .http
            ? nil
            : try TLSChannel(
                TLSAuthorities.read(origin.caFile, at: now), host: origin.hosts[host], session: session,
                offering: protocols)
        place = origin.addressText
        tunnel = origin.proxy.map { _ in HTTPTunnel(to: origin.addressText) }
        descriptor = try origin.connect()
    }

    /// Takes over a socket that is connected, or about to be, to a place that is named in logs; without TLS it is used
    /// plainly.
    init(_ socket: consuming Descriptor, to place: String, by tls: TLSChannel? = nil) {
        self.tls = tls
        self.place = place
        descriptor = consume socket
    }

    /// Registers `handler`, called whenever `serve` is to be called. Throws `UpstreamFailure.overloaded` without memory.
    func watch(on loop: EventLoop, _ handler: @escaping @Loop (Interest) -> Void) throws(UpstreamFailure) {
        guard let number = descriptor?.number else { return }
        do {
            watch = try loop.watch(number, for: .writable, handler)
        } catch {
            throw .overloaded("no socket for \(place): \(error.reason)")
        }
    }

    var isOpen: Bool { descriptor != nil }

    /// Whether the socket has unread bytes.
    var hasUnread: Bool {
        guard let number = descriptor?.number else { return false }
        var byte: UInt8 = 0
        return unsafe recv(number, &byte, 1, Int32(MSG_PEEK | MSG_DONTWAIT)) > 0
    }

    /// Whether the kernel has sent something again, in vain.
    var isUnacknowledged: Bool {
        guard let number = descriptor?.number else { return false }
        var (info, length) = (tcp_info(), socklen_t(MemoryLayout<tcp_info>.size))
        return unsafe getsockopt(number, Int32(IPPROTO_TCP), TCP_INFO, &info, &length) == 0
            && info.tcpi_unacked > 0 && info.tcpi_retransmits > 0
    }

    /// Does what the socket is ready for, and passes the events to `take`.
    ///
    /// - Throws: what `take` throws, or why the connection has failed; `UpstreamFailure.certificate` for an invalid
    ///   certificate, after which nothing was sent.
    func serve(_ ready: Interest, _ take: (Event) throws(UpstreamFailure) -> Void) throws(UpstreamFailure) {
        if phase == .connecting { try finishConnecting(take) }
        if ready.contains(.readable) { try receive(take) }
        if ready.contains(.writable) { sendPending() }
    }

    // MARK: Making it

    private func finishConnecting(_ take: (Event) throws(UpstreamFailure) -> Void) throws(UpstreamFailure) {
        guard let number = descriptor?.number else { return }
        if let error = connectingError(of: number) { throw .network(error.description) }
        guard let request = tunnel?.request else { return try shakeHands(take) }
        // So few bytes fit into any socket's buffer.
        guard unsafe Glibc.send(number, request, request.count, Int32(MSG_NOSIGNAL)) == request.count else {
            throw .network("the proxy takes nothing")
        }
        phase = .tunnelling
        watch?.update(.readable)
    }

    /// Parses the proxy's reply from `bytes`, and goes on once it is complete.
    private func passTunnel(
        _ bytes: inout UnsafeRawBufferPointer, _ take: (Event) throws(UpstreamFailure) -> Void
    ) throws(UpstreamFailure) {
        let used = unsafe tunnel?.receive(bytes) ?? 0
        unsafe bytes = unsafe UnsafeRawBufferPointer(rebasing: bytes[used...])
        switch tunnel?.state {
        case .isOpen?:
            tunnel = nil
            try shakeHands(take)
        case .isRefused(let reason)?: throw .network(reason)
        case .isUnderWay?, nil: break
        }
    }

    private func shakeHands(_ take: (Event) throws(UpstreamFailure) -> Void) throws(UpstreamFailure) {
        // Also sends the alert that says why the handshake failed.
        defer { sendPending() }
        var isHTTP2 = false
        if let tls {
            phase = .shakingHands
            guard let hasChosen = try tls.shakeHands() else { return }
            isHTTP2 = hasChosen
        }
        try take(.isReady(isHTTP2: isHTTP2))
        phase = .ready
    }

    // MARK: Bytes

    private func receive(_ take: (Event) throws(UpstreamFailure) -> Void) throws(UpstreamFailure) {
        let input = unsafe Self.input
        for _ in 0..<Self.readLimit {
            guard let number = descriptor?.number else { return }
            let count = unsafe recv(number, input.baseAddress, input.count, Int32(MSG_DONTWAIT))
            if count < 0 {
                if errno == EAGAIN || errno == EINTR { return }
                throw .network(SystemError.last("receive").description)
            }
            if count == 0 {
                if tls == nil { try take(.isEnded) }
                throw .network("the connection was closed")
            }
            var bytes = unsafe UnsafeRawBufferPointer(rebasing: UnsafeRawBufferPointer(input)[..<count])
            if phase == .tunnelling { unsafe try passTunnel(&bytes, take) }
            if phase != .tunnelling {
                if let tls {
                    overhead += count
                    unsafe try decrypt(bytes, by: tls, take)
                } else {
                    unsafe try take(.bytes(bytes))
                }
            }
            if count < input.count { return }
        }
    }

    /// Decrypts bytes from the network.
    private func decrypt(
        _ bytes: UnsafeRawBufferPointer, by tls: TLSChannel, _ take: (Event) throws(UpstreamFailure) -> Void
    ) throws(UpstreamFailure) {
        guard unsafe tls.receive(bytes) else { throw .network("no memory for TLS") }
        if phase == .shakingHands {
            guard overhead <= HTTPLimits.handshake else { throw .network("the server's handshake has no end") }
            try shakeHands(take)
        }
        let buffer = unsafe Self.plaintext
        while phase == .ready, let count = unsafe try tls.read(into: buffer) {
            guard count > 0 else {
                try take(.isEnded)
                throw .network("the connection was closed")
            }
            overhead -= count
            unsafe try take(.bytes(UnsafeRawBufferPointer(rebasing: UnsafeRawBufferPointer(buffer)[..<count])))
        }
    }

    /// Bytes of TLS's own received since the last call. Negative when a record was completed whose beginning was
    /// counted before.
    func takeOverhead() -> Int {
        defer { overhead = 0 }
        return overhead
    }

    /// Sends as much of `bytes` as the socket takes, and the rest when it takes more; only after `.isReady`.
    func write(_ bytes: [UInt8]) throws(UpstreamFailure) {
        if let tls { try tls.write(bytes) } else { unsent += bytes }
        sendPending()
    }

    /// Sends what `next` appends to an empty buffer, until it appends nothing or the socket does not take all of it.
    func write(_ next: (inout [UInt8]) throws(UpstreamFailure) -> Void) throws(UpstreamFailure) {
        // TLS's own responses to received bytes.
        sendPending()
        var bytes: [UInt8] = []
        swap(&bytes, &Self.outgoing)
        defer { swap(&bytes, &Self.outgoing) }
        // What the socket does not take now must not queue up here: nghttp2 knows its priority.
        while pendingCount == 0 {
            bytes.removeAll(keepingCapacity: true)
            try next(&bytes)
            if bytes.isEmpty { return }
            try write(bytes)
        }
    }

    /// Bytes that wait until the socket takes more.
    var pendingCount: Int { tls?.pendingCount ?? unsent.count }

    /// Sends what waits as far as the socket takes it; the rest when it takes more.
    func sendPending() {
        guard let number = descriptor?.number else { return }
        // If the socket takes less for another reason than a full buffer, the next read reports it.
        func send(_ bytes: UnsafeRawBufferPointer) -> Int {
            unsafe max(0, Glibc.send(number, bytes.baseAddress, bytes.count, Int32(MSG_NOSIGNAL)))
        }
        if let tls {
            unsafe tls.sendPending { unsafe send($0) }
        } else if !unsent.isEmpty {
            let count = unsafe unsent.withUnsafeBytes { unsafe send($0) }
            unsent.removeFirst(min(count, unsent.count))
        }
        watch?.update(pendingCount > 0 ? [.readable, .writable] : .readable)
    }

    /// - Parameter saysGoodbye: whether TLS sends close_notify.
    func close(saysGoodbye: Bool) {
        if saysGoodbye { tls?.close() }
        sendPending()
        watch.take()?.cancel()
        descriptor = nil
    }
}
