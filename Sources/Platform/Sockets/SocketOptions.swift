import CSystem.Linux
public import DNSWire
import Glibc

/// Creates an unbound socket, closed on exec; an IPv6 one does not accept IPv4. It can be bound to an address that this
/// machine does not have yet, and serves it as soon as it has.
func openSocket(
    _ address: SocketAddress, _ transport: Transport, blocking: Bool
) throws(SystemError) -> Descriptor {
    let number = address.openSocket(transport, blocking: blocking)
    guard number >= 0 else { throw .listening(on: address, transport, code: errno) }
    let descriptor = Descriptor(owning: number)
    switch address.family {
    // A wildcard needs no leave, and with it could send from any address whatever.
    case .ipv4: if !address.isWildcard { setOption(number, Int32(IPPROTO_IP), IP_FREEBIND, 1) }
    case .ipv6:
        if !address.isWildcard { setOption(number, Int32(IPPROTO_IPV6), IPV6_FREEBIND, 1) }
        // Each configured address has its own socket; a dual-stack one would conflict with 0.0.0.0 over the port.
        guard setOption(number, Int32(IPPROTO_IPV6), IPV6_V6ONLY, 1) else {
            throw .listening(on: address, transport, code: errno)
        }
    }
    return descriptor
}

extension SocketAddress {
    /// Whether the kernel has IPv6 at all; it has none when it was booted with `ipv6.disable=1`.
    public static var isIPv6Supported: Bool {
        let number = SocketAddress(ipv6: 0, 0, port: 0).openSocket(.udp)
        guard number >= 0 else { return errno != EAFNOSUPPORT }
        _ = Descriptor(owning: number)
        return true
    }

    /// Opens a socket of the address's family that no other program inherits.
    ///
    /// - Returns: its descriptor; negative where there is none: `errno` says why.
    public func openSocket(_ transport: Transport, blocking: Bool = false) -> Int32 {
        let kind = transport == .udp ? SOCK_DGRAM : SOCK_STREAM
        let flags = SOCK_CLOEXEC.rawValue | (blocking ? 0 : SOCK_NONBLOCK.rawValue)
        return socket(family == .ipv4 ? AF_INET : AF_INET6, Int32(kind.rawValue | flags), 0)
    }

    /// Whether an interface of this machine has the address; a wildcard stands for those that there are.
    public var isOnThisMachine: Bool {
        let number = openSocket(.udp)
        guard number >= 0 else { return errno != EAFNOSUPPORT }
        let probe = Descriptor(owning: number)
        var address = self
        address.port = 0
        return unsafe address.withSockaddr { unsafe bind(probe.number, $0, $1) } == 0 || errno != EADDRNOTAVAIL
    }

    /// Whether this machine has a route to the address. Nothing is sent.
    public var isRouted: Bool {
        let number = openSocket(.udp)
        guard number >= 0 else { return errno != EAFNOSUPPORT }
        let probe = Descriptor(owning: number)
        return unsafe withSockaddr { unsafe connect(probe.number, $0, $1) } == 0
            || ![ENETUNREACH, EHOSTUNREACH, EADDRNOTAVAIL, ENETDOWN].contains(errno)
    }
}

/// The addresses of all interfaces of this host, loopback included (getifaddrs(3)); empty if the kernel returns an error.
public func interfaceAddresses() -> Set<IPAddress> {
    var first: UnsafeMutablePointer<ifaddrs>?
    guard unsafe getifaddrs(&first) == 0 else { return [] }
    defer { unsafe freeifaddrs(first) }
    var addresses: Set<IPAddress> = []
    var next = unsafe first
    while let entry = unsafe next {
        unsafe next = unsafe entry.pointee.ifa_next
        guard let address = unsafe entry.pointee.ifa_addr else { continue }
        // The kernel fills in what the family needs, and `SocketAddress` reads no more than that.
        let length = socklen_t(MemoryLayout<sockaddr_in6>.size)
        if let ip = unsafe SocketAddress(UnsafePointer(address), length: length)?.ip { addresses.insert(ip) }
    }
    return addresses
}

extension Descriptor {
    /// A socket that is about to be connected, or over UDP sends to one address alone; no other program inherits it.
    ///
    /// - Parameter prepare: called with its number before that.
    public static func connecting(
        to address: SocketAddress, _ transport: Transport, prepare: (Int32) -> Void = { _ in }
    ) throws(SystemError) -> Descriptor {
        let number = address.openSocket(transport)
        guard number >= 0 else { throw .last("socket") }
        let descriptor = Descriptor(owning: number)
        prepare(number)
        guard unsafe address.withSockaddr({ unsafe connect(number, $0, $1) }) == 0 || errno == EINPROGRESS else {
            throw .last("connect")
        }
        return descriptor
    }
}

/// Why a socket that was about to be connected is not; nil: it is. The kernel says so once.
public func connectingError(of descriptor: Int32) -> SystemError? {
    let code = option(descriptor, SOL_SOCKET, SO_ERROR) ?? EBADF
    return code == 0 ? nil : SystemError(code: code, operation: "connect")
}

/// Binds a socket; the error thrown has advice for the user.
func bindSocket(
    _ descriptor: borrowing Descriptor, to address: SocketAddress, _ transport: Transport
) throws(SystemError) {
    let number = descriptor.number
    guard unsafe address.withSockaddr({ unsafe bind(number, $0, $1) }) == 0 else {
        throw .listening(on: address, transport, code: errno)
    }
}

/// The address a socket is bound to, with the port that the kernel chose for port 0.
public func boundAddress(of number: Int32) -> SocketAddress? { unsafe address(of: number, getsockname) }

/// The address of a socket that another process has bound, which may wait or not from now on.
///
/// - Throws: when it is of another type, or of both families at once: those of IPv4 clients would look like IPv6 ones.
func adoptedAddress(
    of descriptor: borrowing Descriptor, _ transport: Transport, blocking: Bool
) throws(SystemError) -> SocketAddress {
    let number = descriptor.number
    let operation = "take over a passed socket"
    guard hasType(number, transport), let address = boundAddress(of: number), address.port != 0 else {
        throw SystemError(code: EINVAL, operation: operation)
    }
    guard address.family == .ipv4 || !address.isWildcard || option(number, Int32(IPPROTO_IPV6), IPV6_V6ONLY) == 1 else {
        throw SystemError(
            code: EINVAL, operation: "\(operation) of \(address)",
            advice: "it takes IPv4 too; the socket unit needs BindIPv6Only=ipv6-only")
    }
    let flags = fcntl(number, F_GETFL)
    guard flags >= 0, fcntl(number, F_SETFL, blocking ? flags & ~O_NONBLOCK : flags | O_NONBLOCK) == 0 else {
        throw .last("\(operation) of \(address)")
    }
    return address
}

/// Whether it is a socket of the type that this transport needs.
func hasType(_ descriptor: Int32, _ transport: Transport) -> Bool {
    let kind = transport == .udp ? SOCK_DGRAM : SOCK_STREAM
    return option(descriptor, SOL_SOCKET, SO_TYPE) == Int32(kind.rawValue)
}

/// The client of a connected socket; nil when it is none, or the connection is broken.
func peerAddress(of number: Int32) -> SocketAddress? { unsafe address(of: number, getpeername) }

private func address(
    of number: Int32, _ read: (Int32, UnsafeMutablePointer<sockaddr>, UnsafeMutablePointer<socklen_t>) -> Int32
) -> SocketAddress? {
    var (storage, length) = (sockaddr_in6(), socklen_t(MemoryLayout<sockaddr_in6>.size))
    let result = unsafe withUnsafeMutablePointer(to: &storage) { pointer in
        unsafe pointer.withMemoryRebound(to: sockaddr.self, capacity: 1) { unsafe read(number, $0, &length) }
    }
    return result == 0 ? SocketAddress(storage, length: length) : nil
}

/// An option whose value is an integer; nil when there is none.
func option(_ descriptor: Int32, _ level: Int32, _ name: Int32) -> Int32? {
    var value: Int32 = 0
    var length = socklen_t(MemoryLayout<Int32>.size)
    return unsafe getsockopt(descriptor, level, name, &value, &length) == 0 ? value : nil
}

/// Sets an option whose value is an integer. Returns whether that succeeded; else `errno` has the reason.
@discardableResult
public func setOption(_ descriptor: Int32, _ level: Int32, _ name: Int32, _ value: Int32) -> Bool {
    var value = value
    return unsafe setsockopt(descriptor, level, name, &value, socklen_t(MemoryLayout<Int32>.size)) == 0
}
