import DNSWire
import Glibc
import Platform

/// One accepted connection at the level of bytes, plain or encrypted: reads and writes that do not wait.
@Loop
protocol ByteStream: AnyObject, Sendable {
    /// The socket's number, for the event loop; meaningless once closed.
    var number: Int32 { get }

    /// Whether bytes that the network delivered wait inside: the socket's readiness will not tell of them.
    var hasUnread: Bool { get }

    /// Reads the available bytes, up to the size of `buffer`, to its beginning.
    func read(into buffer: inout [UInt8]) -> StreamOutcome

    /// Writes as much of `bytes`, which must not be empty, as can be taken now. What was not taken must be offered again,
    /// unchanged, before other bytes.
    func write(_ bytes: ArraySlice<UInt8>) -> StreamOutcome

    /// Closes the connection at once, after a farewell where the protocol has one. A second call does nothing.
    func close()

    /// Sends no more, after a farewell where the protocol has one, and counts as closed. Returns the socket, which is open,
    /// for what the peer still sends; nil for a connection that is broken or closed.
    func endOutput() -> StreamSocket?
}

/// The result of a read or write.
enum StreamOutcome: Equatable {
    /// This many bytes, at least one.
    case moved(Int)
    /// Nothing can be transferred until the socket is ready for this: mostly for the same direction, but TLS may have to
    /// write in order to read, or the other way round.
    case waits(Interest)
    /// The peer has ended its side of the connection.
    case ended
    /// The connection is broken.
    case failed
}

/// One accepted TCP connection at the level of system calls: non-blocking reads and writes.
@Loop
final class StreamSocket: ByteStream {
    /// For the event loop; meaningless once closed.
    let number: Int32
    private var descriptor: Descriptor?

    init(_ descriptor: consuming Descriptor) {
        number = descriptor.number
        self.descriptor = consume descriptor
    }

    /// The kernel has all that is not read.
    var hasUnread: Bool { false }

    func close() { descriptor = nil }

    func endOutput() -> StreamSocket? {
        guard let descriptor = release() else { return nil }
        shutdown(descriptor.number, Int32(SHUT_WR))
        return StreamSocket(descriptor)
    }

    /// Transfers ownership of the descriptor; the socket counts as closed then.
    func release() -> Descriptor? { descriptor.take() }

    private var isOpen: Bool { descriptor != nil }

    func read(into buffer: inout [UInt8]) -> StreamOutcome {
        unsafe buffer.withUnsafeMutableBytes { unsafe read(into: $0) }
    }

    /// The same into memory of the caller's.
    func read(into buffer: UnsafeMutableRawBufferPointer) -> StreamOutcome {
        guard isOpen else { return .failed }
        while true {
            let count = unsafe recv(number, buffer.baseAddress, buffer.count, Int32(MSG_DONTWAIT))
            if count > 0 { return .moved(count) }
            if count == 0 { return .ended }
            if errno != EINTR { return errno == EAGAIN ? .waits(.readable) : .failed }
        }
    }

    func write(_ bytes: ArraySlice<UInt8>) -> StreamOutcome {
        guard isOpen else { return .failed }
        while true {
            let count = unsafe bytes.withUnsafeBytes {
                unsafe send(number, $0.baseAddress, $0.count, Int32(MSG_NOSIGNAL))
            }
            if count >= 0 { return .moved(count) }
            if errno != EINTR { return errno == EAGAIN ? .waits(.writable) : .failed }
        }
    }
}
