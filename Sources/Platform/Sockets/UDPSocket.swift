import CSystem.Linux
import DNSWire
import Glibc

/// The UDP sockets of one address.
public struct UDPSockets: Sendable {
    /// The kernel distributes the clients over these.
    public let receivers: [UDPSocket]
    /// Receives nothing: for responses sent by another thread than the one that waits in a receiver.
    ///
    /// The kernel has a lock for the threads that wait in a socket. A thread that sends by the socket takes it too, for
    /// each datagram, as does every arriving query: a miss cost 11 % more with its response sent by the receiver
    /// (decision 20). Where the kernel does not support such a socket, it is the first receiver.
    public let sender: UDPSocket

    public init(receivers: [UDPSocket], sender: UDPSocket) {
        self.receivers = receivers
        self.sender = sender
    }

    /// Has the kernel distribute the clients over the receivers, and none to what sends, which was bound before them.
    ///
    /// - Returns: whether it can.
    @discardableResult
    public func spread() -> Bool {
        let family = sender.address.family == .ipv4 ? AF_INET : AF_INET6
        return clinux_spread_datagrams(
            sender.descriptor.number, family, Int32(clamping: sender.numbers.count), Int32(clamping: receivers.count))
            == 0
    }
}

/// One bound UDP socket.
public final class UDPSocket: Sendable {
    public let descriptor: Descriptor
    /// The address it is bound to, with the actual port where 0 was requested.
    public let address: SocketAddress
    /// Further sockets of its address that only send.
    private let others: [UDPSocket]
    /// Its descriptor and theirs: by the first one with room is sent.
    public let numbers: [Int32]

    private init(descriptor: consuming Descriptor, address: SocketAddress, others: [UDPSocket] = []) {
        numbers = [descriptor.number] + others.flatMap(\.numbers)
        self.descriptor = descriptor
        self.address = address
        self.others = others
    }

    /// It, and those that send beside it.
    public var all: [UDPSocket] { [self] + others.flatMap(\.all) }

    /// The sockets that send from an address where other machines may ask.
    ///
    /// What is sent to a neighbour that answers no ARP waits some 3 s for it, in the buffer of its socket (arp(7)): a few such
    /// addresses, from which any machine of the network can ask, would fill that of one. Of default size (`net.core.wmem_max`)
    /// these hold 1,500 such replies a second. Fewer where few descriptors may be open.
    private static var senders: Int { min(8, max(1, DescriptorLimit.current / 128)) }

    /// Bytes of queries that the kernel queues while the thread is busy, some 5,000 small datagrams, and of responses queued for
    /// sending. Without CAP_NET_ADMIN, `net.core.rmem_max` and `wmem_max` are the upper bounds.
    private static let buffer: Int32 = 4 << 20

    /// Binds sockets to one address: `count` that receive, and one that sends.
    ///
    /// The first is bound without SO_REUSEPORT, so that it fails when any other process, another instance of this
    /// daemon included, already holds the port. Only then is the option set, which lets the other sockets bind.
    /// - Parameters:
    ///   - address: port 0 means any free port, the same for all.
    ///   - count: how many receive, 1 to 65,535.
    ///   - isBlocking: whether a receive may block, for threads that only wait for their socket.
    ///   - sharesPort: whether others that share their port may be bound to it, too: at other addresses.
    /// - Throws: the error of `bind`, with advice for the user.
    public static func bind(
        _ address: SocketAddress, count: Int = 1, isBlocking: Bool = false, sharesPort: Bool = false
    ) throws(SystemError) -> UDPSockets {
        let first = try open(address, isBlocking)
        if sharesPort { try share(first, address) }
        try bindSocket(first, to: address, .udp)
        guard let bound = boundAddress(of: first.number) else { throw .listening(on: address, .udp, code: errno) }
        try share(first, address)
        var others: [UDPSocket] = []
        for _ in 1..<(bound.ip.isLoopback ? 1 : senders) { others.append(try sibling(bound, isBlocking)) }
        let sockets = try receivers(
            beside: UDPSocket(descriptor: first, address: bound, others: others), count: count, isBlocking: isBlocking)
        // A kernel that cannot exclude a socket would deliver datagrams to it, which nothing reads.
        return sockets.spread() ? sockets : UDPSockets(receivers: sockets.receivers, sender: sockets.receivers[0])
    }

    /// Binds sockets that receive to the address of one that sends, beside those that it has. The kernel gives them nothing
    /// before `UDPSockets.spread`.
    public static func receivers(
        beside sender: UDPSocket, count: Int, isBlocking: Bool
    ) throws(SystemError) -> UDPSockets {
        var receivers: [UDPSocket] = []
        while receivers.count < max(1, count) { receivers.append(try sibling(sender.address, isBlocking)) }
        return UDPSockets(receivers: receivers, sender: sender)
    }

    /// Binds a further socket to an address whose sockets share it.
    private static func sibling(_ address: SocketAddress, _ isBlocking: Bool) throws(SystemError) -> UDPSocket {
        let descriptor = try open(address, isBlocking)
        try share(descriptor, address)
        try bindSocket(descriptor, to: address, .udp)
        return UDPSocket(descriptor: descriptor, address: address)
    }

    /// Takes over a socket that another process has bound; with what it has received and nothing has read.
    ///
    /// - Parameter other: one that sends beside it.
    /// - Throws: when it is no UDP socket of one family that is bound to a port.
    public convenience init(
        adopting descriptor: consuming Descriptor, isBlocking: Bool = false, beside other: UDPSocket? = nil
    ) throws(SystemError) {
        let address = try adoptedAddress(of: descriptor, .udp, blocking: isBlocking)
        try Self.setOptions(of: descriptor.number, address)
        self.init(descriptor: descriptor, address: address, others: other.map { [$0] } ?? [])
    }

    private static func open(_ address: SocketAddress, _ isBlocking: Bool) throws(SystemError) -> Descriptor {
        let descriptor = try openSocket(address, .udp, blocking: isBlocking)
        try setOptions(of: descriptor.number, address)
        return descriptor
    }

    private static func setOptions(of number: Int32, _ address: SocketAddress) throws(SystemError) {
        setBuffer(number, SO_RCVBUFFORCE, SO_RCVBUF, Self.buffer)
        setBuffer(number, SO_SNDBUFFORCE, SO_SNDBUF, Self.buffer)
        // Responses never follow a path MTU learned from ICMP: an attacker that forges such a message could otherwise
        // have our responses fragmented, and fragments can be replaced in transit (RFC 9715).
        switch address.family {
        case .ipv4: setOption(number, Int32(IPPROTO_IP), IP_MTU_DISCOVER, IP_PMTUDISC_OMIT)
        case .ipv6: setOption(number, Int32(IPPROTO_IPV6), IPV6_MTU_DISCOVER, IPV6_PMTUDISC_OMIT)
        }
        guard !address.isWildcard || reportLocalAddresses(number, address.family) else {
            throw .listening(on: address, .udp, code: errno)
        }
    }

    /// Makes the kernel report to which of our addresses each datagram was sent.
    ///
    /// Without it a wildcard socket would answer from whichever address the route prefers, and clients drop that. A
    /// socket of one address answers from there anyway, and does without: it costs 4 % of a hit (measured).
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

    /// Sets a buffer's size, above the machine's upper bound where we have the capability; a smaller one is no error. One
    /// that is larger, as a socket unit may have made it, stays.
    static func setBuffer(_ descriptor: Int32, _ forced: Int32, _ plain: Int32, _ size: Int32) {
        guard option(descriptor, SOL_SOCKET, plain) ?? 0 < size,
            !setOption(descriptor, SOL_SOCKET, forced, size)
        else { return }
        setOption(descriptor, SOL_SOCKET, plain, size)
    }
}
