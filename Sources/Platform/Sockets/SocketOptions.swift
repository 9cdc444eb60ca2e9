import Glibc

/// Creates an unbound socket, closed on exec; an IPv6 one does not accept IPv4.
func openSocket(
    _ address: SocketAddress, _ transport: Transport, blocking: Bool
) throws(SystemError) -> Descriptor {
    let kind = transport == .udp ? SOCK_DGRAM : SOCK_STREAM
    let flags = SOCK_CLOEXEC.rawValue | (blocking ? 0 : SOCK_NONBLOCK.rawValue)
    let number = socket(address.family == .ipv4 ? AF_INET : AF_INET6, Int32(kind.rawValue | flags), 0)
    guard number >= 0 else { throw .listening(on: address, transport, code: errno) }
    let descriptor = Descriptor(owning: number)
    if address.family == .ipv6 {
        // Each configured address has its own socket; a dual-stack one would conflict with 0.0.0.0 over the port.
        guard setOption(number, Int32(IPPROTO_IPV6), IPV6_V6ONLY, 1) else {
            throw .listening(on: address, transport, code: errno)
        }
    }
    return descriptor
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
