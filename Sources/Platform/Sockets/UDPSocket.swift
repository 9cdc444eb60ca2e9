import CLinux
import Glibc

/// The UDP sockets of one address.
package struct UDPSockets: Sendable {
    /// The kernel spreads the clients over these.
    package let receivers: [UDPSocket]
    /// Receives nothing: for replies that another thread sends than the one that waits in a receiver.
    ///
    /// The kernel has a lock for those who wait in a socket. Who sends by it takes that too, for each datagram, and so does
    /// every client whose query arrives: a miss cost 11 % more with its reply sent by the receiver (decision 20).
    /// Where the kernel cannot do that, it is the first receiver.
    package let sender: UDPSocket
}

/// One bound UDP socket.
package final class UDPSocket: Sendable {
    package let descriptor: Descriptor
    /// The address it is bound to, with the real port where 0 was asked for.
    package let address: SocketAddress

    private init(descriptor: consuming Descriptor, address: SocketAddress) {
        self.descriptor = descriptor
        self.address = address
    }

    /// What a socket is opened with.
    package struct Options: Sendable {
        /// Bytes of questions the kernel keeps while its thread is busy; default 4 MiB, some 5,000 small datagrams.
        /// Without CAP_NET_ADMIN, `net.core.rmem_max` is the ceiling.
        package var receiveBuffer: Int32 = 4 << 20
        /// Bytes of replies on their way out; default 4 MiB, with the ceiling `net.core.wmem_max`.
        package var sendBuffer: Int32 = 4 << 20
        /// Whether a receive may block, for threads that do nothing but wait for this socket.
        package var isBlocking = false

        package init() {}
    }

    /// Binds sockets to one address: as many that receive as there are threads to wait in them, and one that sends.
    ///
    /// The first is bound without SO_REUSEPORT, so that it fails when anybody else, another daemon of ours included,
    /// already holds the port. Only then is the option set, which lets its siblings in.
    /// - Parameters:
    ///   - address: port 0 means any free port, the same for all.
    ///   - count: how many receive, 1 to 65,535.
    /// - Throws: what `bind` reports, with advice for the user.
    package static func bind(
        _ address: SocketAddress, count: Int = 1, options: Options = Options()
    ) throws(SystemError) -> UDPSockets {
        let first = try open(address, options)
        try bindSocket(first, to: address, .udp)
        guard let bound = boundAddress(of: first) else { throw .listening(on: address, .udp, code: errno) }
        try share(first, address)
        let sender = UDPSocket(descriptor: first, address: bound)
        var receivers: [UDPSocket] = []
        while receivers.count < max(1, count) {
            let sibling = try open(address, options)
            try share(sibling, address)
            try bindSocket(sibling, to: bound, .udp)
            receivers.append(UDPSocket(descriptor: sibling, address: bound))
        }
        let family = address.family == .ipv4 ? AF_INET : AF_INET6
        let result = clinux_spread_datagrams(sender.descriptor.number, family, Int32(clamping: receivers.count))
        // A kernel that cannot leave a socket out would give it datagrams that nobody reads.
        return UDPSockets(receivers: receivers, sender: result == 0 ? sender : receivers[0])
    }

    private static func open(_ address: SocketAddress, _ options: Options) throws(SystemError) -> Descriptor {
        let descriptor = try openSocket(address, .udp, blocking: options.isBlocking)
        let number = descriptor.number
        setBuffer(number, SO_RCVBUFFORCE, SO_RCVBUF, options.receiveBuffer)
        setBuffer(number, SO_SNDBUFFORCE, SO_SNDBUF, options.sendBuffer)
        // Replies never follow a path MTU learned from ICMP: who forges such a message could otherwise have our replies
        // cut into fragments, and fragments can be replaced on the way (RFC 9715).
        switch address.family {
        case .ipv4: setOption(number, Int32(IPPROTO_IP), IP_MTU_DISCOVER, IP_PMTUDISC_OMIT)
        case .ipv6: setOption(number, Int32(IPPROTO_IPV6), IPV6_MTU_DISCOVER, IPV6_PMTUDISC_OMIT)
        }
        guard !address.isWildcard || reportLocalAddresses(number, address.family) else {
            throw .listening(on: address, .udp, code: errno)
        }
        return descriptor
    }

    /// Makes the kernel tell which of our addresses each datagram was sent to.
    ///
    /// Without it a wildcard socket would answer from whichever address the route prefers, and clients drop that. A
    /// socket of one address answers from there anyway, and does without: it costs 4 % of a cached answer (measured).
    private static func reportLocalAddresses(_ number: Int32, _ family: SocketAddress.Family) -> Bool {
        switch family {
        case .ipv4: setOption(number, Int32(IPPROTO_IP), IP_PKTINFO, 1)
        case .ipv6: setOption(number, Int32(IPPROTO_IPV6), IPV6_RECVPKTINFO, 1)
        }
    }

    private static func share(_ descriptor: borrowing Descriptor, _ address: SocketAddress) throws(SystemError) {
        guard setOption(descriptor.number, SOL_SOCKET, SO_REUSEPORT, 1) else {
            throw .listening(on: address, .udp, code: errno)
        }
    }

    /// Sizes a buffer, past the machine's ceiling where we are allowed to; a smaller one is no error.
    private static func setBuffer(_ descriptor: Int32, _ forced: Int32, _ plain: Int32, _ size: Int32) {
        guard size > 0, !setOption(descriptor, SOL_SOCKET, forced, size) else { return }
        setOption(descriptor, SOL_SOCKET, plain, size)
    }
}
