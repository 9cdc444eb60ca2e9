import Glibc
import Platform
import Scheduling

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

    /// Transfers ownership of the descriptor; the socket counts as closed then.
    func release() -> Descriptor? { descriptor.take() }

    private var isOpen: Bool { descriptor != nil }

    func read(into buffer: inout [UInt8]) -> StreamOutcome {
        guard isOpen else { return .failed }
        while true {
            let count = unsafe buffer.withUnsafeMutableBytes { unsafe recv(number, $0.baseAddress, $0.count, 0) }
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
