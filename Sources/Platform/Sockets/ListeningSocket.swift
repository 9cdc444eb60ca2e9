import CLinux
import Glibc

/// A TCP socket that takes connections.
package final class ListeningSocket: Sendable {
    /// Connections that wait to be accepted; more are refused.
    private static let backlog: Int32 = 1_024

    package let descriptor: Descriptor
    /// The address it is bound to, with the real port where 0 was asked for.
    package let address: SocketAddress

    /// Binds and listens, without blocking.
    ///
    /// - Throws: what `bind` or `listen` reports, with advice for the user.
    package init(_ address: SocketAddress) throws(SystemError) {
        let descriptor = try openSocket(address, .tcp, blocking: false)
        // Lets a restarted daemon bind while old connections still time out; a living listener still refuses us.
        setOption(descriptor.number, SOL_SOCKET, SO_REUSEADDR, 1)
        // Accepted connections inherit it: replies are written whole, and must not wait for an acknowledgement.
        setOption(descriptor.number, Int32(IPPROTO_TCP), TCP_NODELAY, 1)
        try bindSocket(descriptor, to: address, .tcp)
        guard listen(descriptor.number, Self.backlog) == 0, let bound = boundAddress(of: descriptor) else {
            throw .listening(on: address, .tcp, code: errno)
        }
        self.address = bound
        self.descriptor = descriptor
    }

    /// What trying to take a connection came to.
    package enum Accepted: ~Copyable {
        /// A connection, non-blocking and closed on exec, and who made it.
        case connection(Descriptor, peer: SocketAddress)
        /// None waits.
        case wouldBlock
        /// This one was gone before it was taken; try the next.
        case retry
        /// Out of descriptors or memory. The connection still waits, and so the socket stays readable: pause the watch.
        case exhausted(SystemError)
    }

    /// Takes one waiting connection.
    package func accept() -> Accepted {
        var peer = sockaddr_in6()
        var length: UInt32 = 0
        let result = clinux_accept(descriptor.number, &peer, &length)
        guard result < 0 else {
            let connection = Descriptor(owning: result)
            let address = withUnsafePointer(to: peer) { pointer in
                pointer.withMemoryRebound(to: sockaddr.self, capacity: 1) { SocketAddress($0, length: length) }
            }
            guard let address else { return .retry }
            return .connection(connection, peer: address)
        }
        switch -result {
        case EAGAIN: return .wouldBlock
        case EMFILE, ENFILE, ENOBUFS, ENOMEM, EBADF, EINVAL, ENOTSOCK:
            return .exhausted(
                SystemError(
                    code: -result, operation: "accept on \(address)",
                    advice: SystemError.exhaustionAdvice(code: -result)))
        // EINTR, ECONNABORTED, and errors of the new connection's own path, which accept(2) hands to us.
        default: return .retry
        }
    }
}
