import CSystem.Linux
import Glibc

/// A listening TCP socket, or one of this machine's programs (Unix).
public final class ListeningSocket: Sendable {
    /// The most connections that wait to be accepted; more are refused.
    private static let backlog: Int32 = 1_024

    public let descriptor: Descriptor
    /// The address it is bound to, with the actual port where 0 was requested.
    public let address: SocketAddress
    private let isLocal: Bool

    /// Binds and listens; the socket is non-blocking.
    ///
    /// - Parameter sharesPort: whether others that share their port may be bound to it, too.
    /// - Throws: the error of `bind` or `listen`, with advice for the user.
    public init(_ address: SocketAddress, sharesPort: Bool = false) throws(SystemError) {
        let descriptor = try openSocket(address, .tcp, blocking: false)
        // Lets a restarted daemon bind while old connections still time out; binding next to a running listener still
        // fails.
        setOption(descriptor.number, SOL_SOCKET, SO_REUSEADDR, 1)
        if sharesPort { setOption(descriptor.number, SOL_SOCKET, SO_REUSEPORT, 1) }
        // Accepted connections inherit it: responses are written whole, and must not wait for an acknowledgement.
        setOption(descriptor.number, Int32(IPPROTO_TCP), TCP_NODELAY, 1)
        try bindSocket(descriptor, to: address, .tcp)
        guard listen(descriptor.number, Self.backlog) == 0, let bound = boundAddress(of: descriptor.number) else {
            throw .listening(on: address, .tcp, code: errno)
        }
        self.address = bound
        isLocal = false
        self.descriptor = descriptor
    }

    /// Takes over a socket on which another process listens, with the connections that wait to be accepted.
    ///
    /// - Throws: when it is no listening TCP socket of one family.
    public init(adopting descriptor: consuming Descriptor) throws(SystemError) {
        address = try adoptedAddress(of: descriptor, .tcp, blocking: false)
        guard option(descriptor.number, SOL_SOCKET, SO_ACCEPTCONN) == 1 else {
            throw SystemError(code: EINVAL, operation: "take over \(address) (TCP)", advice: "it does not listen")
        }
        setOption(descriptor.number, Int32(IPPROTO_TCP), TCP_NODELAY, 1)
        isLocal = false
        self.descriptor = descriptor
    }

    /// Takes a listening Unix socket, non-blocking, whose clients count as 127.0.0.1.
    public init(local descriptor: consuming Descriptor) {
        address = SocketAddress(ipv4: 0x7f00_0001, port: 0)
        isLocal = true
        self.descriptor = descriptor
    }

    /// The result of accepting a connection.
    public enum Accepted: ~Copyable {
        /// A connection, non-blocking and closed on exec, and its client's address.
        case connection(Descriptor, peer: SocketAddress)
        /// No connection waits.
        case wouldBlock
        /// This connection was closed before it was accepted; try the next.
        case retry
        /// Out of descriptors or memory. The connection still waits, and so the socket stays readable: pause the watch.
        case exhausted(SystemError)
    }

    /// Accepts one waiting connection.
    public func accept() -> Accepted {
        var peer = sockaddr_in6()
        var length: UInt32 = 0
        let result = unsafe clinux_accept(descriptor.number, &peer, &length)
        guard result < 0 else {
            let connection = Descriptor(owning: result)
            if isLocal { return .connection(connection, peer: address) }
            guard let client = SocketAddress(peer, length: length) else { return .retry }
            return .connection(connection, peer: client)
        }
        switch -result {
        case EAGAIN: return .wouldBlock
        case EMFILE, ENFILE, ENOBUFS, ENOMEM, EBADF, EINVAL, ENOTSOCK:
            return .exhausted(
                SystemError(
                    code: -result, operation: isLocal ? "accept on the control socket" : "accept on \(address)",
                    advice: SystemError.exhaustionAdvice(code: -result)))
        // EINTR, ECONNABORTED, and network errors of the new connection, which accept(2) reports.
        default: return .retry
        }
    }
}
