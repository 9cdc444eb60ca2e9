import CLinux
import Glibc
import Scheduling

/// The receiving end of `ServiceManager`: a Unix socket by which a process takes over what another one passes to it.
package final class NoticeSocket: Sendable {
    /// One message.
    package struct Notice: Sendable {
        /// The lines, such as `FDSTORE=1`.
        package let lines: [String]
        /// The descriptors in it, with the name in its `FDNAME=`.
        package let descriptors: [PassedDescriptor]
    }

    /// The longest message in bytes; more of one is cut off.
    private static let longest = 4_096

    private let descriptor: Descriptor

    /// - Parameter descriptor: of a socket for messages: connected, or bound and for datagrams.
    package init(_ descriptor: consuming Descriptor) { self.descriptor = descriptor }

    /// The next message; nil when none arrives within `limit`, and at the end of a connection.
    package func receive(within limit: Duration) -> Notice? {
        let deadline = Instant.bootTime + limit
        repeat {
            if let notice = receive() { return notice }
            let left = Int32(clamping: max(0, (deadline - .bootTime).nanoseconds) / 1_000_000 + 1)
            var wanted = pollfd(fd: descriptor.number, events: Int16(POLLIN), revents: 0)
            _ = unsafe poll(&wanted, 1, left)
            if wanted.revents & Int16(POLLHUP) != 0 { break }
        } while Instant.bootTime < deadline
        return receive()
    }

    /// Whether the other end of the connection is closed. What it has sent before can still be received.
    package var hasEnded: Bool {
        var wanted = pollfd(fd: descriptor.number, events: 0, revents: 0)
        return unsafe poll(&wanted, 1, 0) == 1 && wanted.revents & Int16(POLLHUP) != 0
    }

    private func receive() -> Notice? {
        var text = [CChar](repeating: 0, count: Self.longest)
        var numbers = [Int32](repeating: -1, count: Int(CLINUX_DESCRIPTORS_MAX))
        var count: Int32 = 0
        let length = unsafe clinux_receive_notice(descriptor.number, &text, text.count, &numbers, &count)
        guard length > 0 else { return nil }
        let lines = String(decoding: text.prefix(Int(length)).map { UInt8(truncatingIfNeeded: $0) }, as: UTF8.self)
            .split(separator: "\n").map(String.init)
        let name = lines.first { $0.hasPrefix("FDNAME=") }.map { String($0.dropFirst("FDNAME=".count)) } ?? ""
        return Notice(
            lines: lines,
            descriptors: numbers.prefix(Int(count)).map { PassedDescriptor(Descriptor(owning: $0), name: name) })
    }
}
