import CLinux
import Platform
import Scheduling

/// Late replies over UDP that are still to be sent: those that become ready together leave with one system call.
///
/// A and AAAA of a name, asked by one client and answered by one call of a vendor, arrive together as they left together.
@Loop
final class ReplyOutbox: Sendable {
    /// The socket by which the replies that wait go out.
    private var socket: UDPSocket?
    private var bytes: [UInt8] = []
    private var replies: [clinux_late_reply] = []
    /// How many system calls have sent replies.
    private(set) var sends = 0

    nonisolated init() {}

    /// Sends a reply once everything that the loop has to do at this moment is done.
    ///
    /// A client that cannot be reached any more, or a full send buffer, loses it.
    ///
    /// - Parameters:
    ///   - limit: its most bytes.
    ///   - write: appends it.
    func add(by path: DatagramPath, limit: Int, _ write: (inout OutputSpan<UInt8>) -> Void) {
        if socket !== path.socket || replies.count == Int(CLINUX_LATE_MAX) { flush() }
        if replies.isEmpty { Loop.spawn { [self] in flush() } }
        socket = path.socket
        let start = bytes.count
        bytes.append(addingCapacity: limit, initializingWith: write)
        replies.append(
            clinux_late_reply(
                offset: UInt32(truncatingIfNeeded: start), length: UInt32(truncatingIfNeeded: bytes.count - start),
                origin: path.origin))
    }

    /// Sends what waits now.
    func flush() {
        guard let socket = socket.take(), !replies.isEmpty else { return }
        _ = clinux_send_late(socket.descriptor.number, bytes, replies, Int32(truncatingIfNeeded: replies.count))
        sends += 1
        replies.removeAll(keepingCapacity: true)
        bytes.removeAll(keepingCapacity: true)
    }
}
