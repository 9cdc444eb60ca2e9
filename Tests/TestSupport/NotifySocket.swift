import Glibc
package import Platform

/// The datagram socket of a service manager, to which a service reports its state.
package final class NotifySocket: Sendable {
    private let descriptor: Int32

    /// - Parameter path: its path; with an `@` in front the name of an abstract socket.
    package init(_ path: String) throws { descriptor = try Self.bind(path) }

    /// What receives descriptors as well.
    package static func forDescriptors(at path: String) throws -> NoticeSocket {
        try NoticeSocket(Descriptor(owning: bind(path)))
    }

    private static func bind(_ path: String) throws -> Int32 {
        let descriptor = socket(AF_UNIX, Int32(SOCK_DGRAM.rawValue | SOCK_CLOEXEC.rawValue), 0)
        var address = sockaddr_un()
        address.sun_family = sa_family_t(AF_UNIX)
        var name = Array(path.utf8)
        guard name.count < MemoryLayout.size(ofValue: address.sun_path) else { throw TestFailure("too long: \(path)") }
        if path.hasPrefix("@") { name[0] = 0 }
        withUnsafeMutableBytes(of: &address.sun_path) { $0.copyBytes(from: name) }
        let length = socklen_t(MemoryLayout<sa_family_t>.size + name.count)
        let result = withUnsafePointer(to: address) { pointer in
            pointer.withMemoryRebound(to: sockaddr.self, capacity: 1) { Glibc.bind(descriptor, $0, length) }
        }
        guard result == 0 else { throw TestFailure("cannot make a socket at \(path)") }
        return descriptor
    }

    deinit { close(descriptor) }

    /// The next message; empty when none arrives within `limit`.
    package func receive(within limit: Duration = .patience) -> String {
        var wanted = pollfd(fd: descriptor, events: Int16(POLLIN), revents: 0)
        guard poll(&wanted, 1, limit.inMilliseconds) == 1 else { return "" }
        var bytes = [UInt8](repeating: 0, count: 256)
        let count = recv(descriptor, &bytes, bytes.count, 0)
        return String(decoding: bytes.prefix(max(0, count)), as: UTF8.self)
    }
}
