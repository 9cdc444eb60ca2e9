import Glibc

/// Creates an unbound socket, closed on exec; an IPv6 one does not accept IPv4. It can be bound to an address that this
/// machine does not have yet, and serves it as soon as it has.
func openSocket(
    _ address: SocketAddress, _ transport: Transport, blocking: Bool
) throws(SystemError) -> Descriptor {
    let kind = transport == .udp ? SOCK_DGRAM : SOCK_STREAM
    let flags = SOCK_CLOEXEC.rawValue | (blocking ? 0 : SOCK_NONBLOCK.rawValue)
    let number = socket(address.family == .ipv4 ? AF_INET : AF_INET6, Int32(kind.rawValue | flags), 0)
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
    /// Whether an interface of this machine has the address; a wildcard stands for those that there are.
    package var isOnThisMachine: Bool {
        let number = socket(family == .ipv4 ? AF_INET : AF_INET6, Int32(SOCK_DGRAM.rawValue | SOCK_CLOEXEC.rawValue), 0)
        guard number >= 0 else { return errno != EAFNOSUPPORT }
        let probe = Descriptor(owning: number)
        var address = self
        address.port = 0
        return address.withSockaddr { bind(probe.number, $0, $1) } == 0 || errno != EADDRNOTAVAIL
    }
}

/// Binds a socket; the error thrown has advice for the user.
func bindSocket(
    _ descriptor: borrowing Descriptor, to address: SocketAddress, _ transport: Transport
) throws(SystemError) {
    let number = descriptor.number
    guard address.withSockaddr({ bind(number, $0, $1) }) == 0 else {
        throw .listening(on: address, transport, code: errno)
    }
}

/// The address a socket is bound to, with the port that the kernel chose for port 0.
func boundAddress(of descriptor: borrowing Descriptor) -> SocketAddress? {
    let number = descriptor.number
    return withUnsafeTemporaryAllocation(of: sockaddr_in6.self, capacity: 1) { storage -> SocketAddress? in
        guard let base = storage.baseAddress else { return nil }
        return base.withMemoryRebound(to: sockaddr.self, capacity: 1) { pointer in
            var length = socklen_t(MemoryLayout<sockaddr_in6>.size)
            return getsockname(number, pointer, &length) == 0 ? SocketAddress(pointer, length: length) : nil
        }
    }
}

/// Sets an option whose value is an integer. Returns whether that succeeded; else `errno` has the reason.
@discardableResult
func setOption(_ descriptor: Int32, _ level: Int32, _ name: Int32, _ value: Int32) -> Bool {
    var value = value
    return setsockopt(descriptor, level, name, &value, socklen_t(MemoryLayout<Int32>.size)) == 0
}
