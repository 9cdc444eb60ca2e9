import CCurl
import CLinux
import DNSWire
import Glibc
import Platform

/// A TCP socket to a service, or to the proxy through which it is reached.
enum HTTPSocket {
    /// Time without an acknowledgement after which the kernel closes a connection (TCP_USER_TIMEOUT): it bounds how long a
    /// black hole goes undetected when every request is given up before its connection is tested.
    private static let userTimeout: Duration = .seconds(3)

    /// Starts to connect, without blocking.
    ///
    /// - Throws: `UpstreamFailure.overloaded` without descriptors or memory, `UpstreamFailure.network` without a route.
    static func connect(to origin: HTTPOrigin) throws(UpstreamFailure) -> Descriptor {
        let address = origin.proxy ?? SocketAddress(origin.translated ?? origin.address, port: origin.port)
        let number = address.openSocket(.tcp)
        guard number >= 0 else {
            if let shortage = shortage(errno) {
                throw .overloaded("no socket for \(origin.addressText): \(shortage)")
            }
            throw .network(SystemError.last("socket").description)
        }
        let descriptor = Descriptor(owning: number)
        limitSilence(of: number)
        for (level, option, value) in [
            (Int32(IPPROTO_TCP), TCP_NODELAY, 1), (SOL_SOCKET, SO_KEEPALIVE, 1),
            (Int32(IPPROTO_TCP), TCP_KEEPIDLE, HTTPLimits.keepAliveIdle),
            (Int32(IPPROTO_TCP), TCP_KEEPINTVL, HTTPLimits.keepAliveInterval),
        ] {
            var value = Int32(value)
            _ = unsafe setsockopt(number, level, option, &value, socklen_t(MemoryLayout<Int32>.size))
        }
        guard unsafe address.withSockaddr({ unsafe Glibc.connect(number, $0, $1) }) == 0 || errno == EINPROGRESS else {
            throw .network(SystemError.last("connect").description)
        }
        return descriptor
    }

    /// Sets TCP_USER_TIMEOUT to `userTimeout`.
    static func limitSilence(of descriptor: Int32) {
        // An old kernel without the option only detects a dead connection later.
        _ = clinux_set_user_timeout(descriptor, UInt32(userTimeout.components.seconds) * 1_000)
    }

    /// Which local resource is exhausted, if that is why a socket could not be opened.
    static func shortage(_ error: Int32) -> String? {
        switch error {
        case EMFILE, ENFILE: "out of file descriptors"
        case ENOBUFS, ENOMEM: "out of memory for sockets"
        default: nil
        }
    }
}
