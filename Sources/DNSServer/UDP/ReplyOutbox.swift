import CLinux
import Platform
import Scheduling

/// Late responses over UDP that wait to be sent; those that become ready together are sent by one system call.
///
/// The A and AAAA responses for a name, which one client queried together and one HTTP request resolved, become ready
/// together.
@Loop
final class ReplyOutbox: Sendable {
    /// The socket by which the waiting responses are sent.
    private var socket: UDPSocket?
    private var bytes: [UInt8] = []
    private var replies: [clinux_late_reply] = []
    /// System calls that have sent responses, since the start.
    private(set) var sends = 0

    nonisolated init() {}

    /// Queues a response, sent once the loop has done everything due at this moment.
    ///
    /// It is dropped when its client is unreachable or the send buffer is full.
    ///
    /// - Parameters:
    ///   - limit: its maximum length in bytes.
    ///   - write: appends the response.
    /// - Returns: the response.
    func add(
        by path: DatagramPath, limit: Int, _ write: (inout OutputSpan<UInt8>) -> Void
    ) -> ArraySlice<UInt8> {
        if socket !== path.socket || replies.count == Int(CLINUX_LATE_MAX) { flush() }
        if replies.isEmpty { Loop.spawn { [self] in flush() } }
        socket = path.socket
        let start = bytes.count
        bytes.append(addingCapacity: limit, initializingWith: write)
        replies.append(
            clinux_late_reply(
                offset: UInt32(truncatingIfNeeded: start), length: UInt32(truncatingIfNeeded: bytes.count - start),
                origin: path.origin))
        return bytes[start...]
    }

    /// Sends the waiting responses now.
    func flush() {
        guard let socket = socket.take(), !replies.isEmpty else { return }
        _ = unsafe clinux_send_late(socket.descriptor.number, bytes, replies, Int32(truncatingIfNeeded: replies.count))
        sends += 1
        replies.removeAll(keepingCapacity: true)
        bytes.removeAll(keepingCapacity: true)
    }
}
