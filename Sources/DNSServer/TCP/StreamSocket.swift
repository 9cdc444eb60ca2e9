import Glibc
import Platform
import Scheduling

/// One accepted TCP connection at the level of system calls: non-blocking reads and writes.
@Loop
final class StreamSocket: Sendable {
    /// The result of a read or write.
    enum Outcome: Equatable {
        /// This many bytes, at least one.
        case moved(Int)
        /// Nothing can be transferred now.
        case wouldBlock
        /// The peer has ended its side of the connection.
        case ended
        /// The connection is broken.
        case failed
    }

    /// For the event loop; meaningless once closed.
    let number: Int32
    private var descriptor: Descriptor?

    init(_ descriptor: consuming Descriptor) {
        number = descriptor.number
        self.descriptor = consume descriptor
    }

    /// Closes the connection at once. A second call does nothing.
    func close() { descriptor = nil }

    /// Transfers ownership of the descriptor; the socket counts as closed then.
    func release() -> Descriptor? { descriptor.take() }

    private var isOpen: Bool { descriptor != nil }

    /// Reads the available bytes, up to the size of `buffer`, to its beginning.
    func read(into buffer: inout [UInt8]) -> Outcome {
        guard isOpen else { return .failed }
        while true {
            let count = buffer.withUnsafeMutableBytes { recv(number, $0.baseAddress, $0.count, 0) }
            if count > 0 { return .moved(count) }
            if count == 0 { return .ended }
            if errno != EINTR { return errno == EAGAIN ? .wouldBlock : .failed }
        }
    }

    /// Writes as much of `bytes`, which must not be empty, as the kernel accepts.
    func write(_ bytes: ArraySlice<UInt8>) -> Outcome {
        guard isOpen else { return .failed }
        while true {
            let count = bytes.withUnsafeBytes { send(number, $0.baseAddress, $0.count, Int32(MSG_NOSIGNAL)) }
            if count >= 0 { return .moved(count) }
            if errno != EINTR { return errno == EAGAIN ? .wouldBlock : .failed }
        }
    }
}
