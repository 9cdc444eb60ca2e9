import DNSWire
import Glibc
import Platform
import Scheduling

/// A connection that carries bytes, by TLS or plainly.
@Loop
protocol ByteSocket: AnyObject {
    /// Registers `handler`, called whenever `serve` is to be called.
    func watch(on loop: EventLoop, _ handler: @escaping @Loop (Interest) -> Void) throws(UpstreamFailure)

    /// Does what the socket is ready for, and passes the events to `take`.
    func serve(_ ready: Interest, _ take: (TLSSocket.Event) throws(HTTPEnd) -> Void) throws(HTTPEnd)

    /// Sends as much as the socket takes, and the rest when it takes more; only after `.isReady`.
    func write(_ bytes: [UInt8]) throws(UpstreamFailure)

    /// Bytes that wait until the socket takes more.
    var unsentCount: Int { get }

    func close(saysGoodbye: Bool)
}

extension TLSSocket: ByteSocket {
    var unsentCount: Int { tls.pendingCount }
}

/// A connection without TLS.
@Loop
final class PlainSocket: ByteSocket {
    /// Memory for what is read within one call, shared by all sockets.
    private static let buffer = UnsafeMutableRawBufferPointer.allocate(byteCount: 16_384, alignment: 1)
    /// Reads before other events are served.
    private static let readLimit = 8

    private let place: String
    /// Nil once it is closed.
    private var descriptor: Descriptor?
    private var watch: Watch?
    private var isConnecting = true
    private var unsent: [UInt8] = []

    /// - Parameters:
    ///   - descriptor: of a socket that is connected, or about to be.
    ///   - place: what it leads to, for logs.
    init(_ descriptor: consuming Descriptor, to place: String) {
        self.descriptor = consume descriptor
        self.place = place
    }

    func watch(on loop: EventLoop, _ handler: @escaping @Loop (Interest) -> Void) throws(UpstreamFailure) {
        guard let number = descriptor?.number else { return }
        do {
            watch = try loop.watch(number, for: .writable, handler)
        } catch {
            throw .overloaded("no socket for \(place): \(error.reason)")
        }
    }

    var unsentCount: Int { unsent.count }

    func serve(_ ready: Interest, _ take: (TLSSocket.Event) throws(HTTPEnd) -> Void) throws(HTTPEnd) {
        if isConnecting {
            try finishConnecting()
            try take(.isReady(isHTTP2: false))
        }
        if ready.contains(.readable) { try receive(take) }
        if ready.contains(.writable) { sendUnsent() }
    }

    private func finishConnecting() throws(HTTPEnd) {
        guard let number = descriptor?.number else { return }
        var (code, length): (Int32, socklen_t) = (0, socklen_t(MemoryLayout<Int32>.size))
        guard unsafe getsockopt(number, SOL_SOCKET, SO_ERROR, &code, &length) == 0, code == 0 else {
            throw broken(SystemError(code: code, operation: "connect").description)
        }
        isConnecting = false
    }

    private func receive(_ take: (TLSSocket.Event) throws(HTTPEnd) -> Void) throws(HTTPEnd) {
        for _ in 0..<Self.readLimit {
            guard let number = descriptor?.number else { return }
            let count = unsafe recv(number, Self.buffer.baseAddress, Self.buffer.count, Int32(MSG_DONTWAIT))
            if count < 0 {
                if errno == EAGAIN || errno == EINTR { return }
                throw broken(SystemError.last("receive").description)
            }
            if count == 0 { throw broken("the connection was closed") }
            unsafe try take(.bytes(UnsafeRawBufferPointer(rebasing: Self.buffer[..<count])))
            if unsafe count < Self.buffer.count { return }
        }
    }

    func write(_ bytes: [UInt8]) throws(UpstreamFailure) {
        unsent += bytes
        sendUnsent()
    }

    private func sendUnsent() {
        guard let number = descriptor?.number else { return }
        if !unsent.isEmpty {
            // If the socket takes less for another reason than a full buffer, the next read reports it.
            let count = unsafe max(0, send(number, unsent, unsent.count, Int32(MSG_NOSIGNAL)))
            unsent.removeFirst(min(count, unsent.count))
        }
        watch?.update(unsent.isEmpty ? .readable : [.readable, .writable])
    }

    private func broken(_ reason: String) -> HTTPEnd { .broken(.network(reason)) }

    func close(saysGoodbye: Bool) {
        watch?.cancel()
        watch = nil
        descriptor = nil
    }
}
