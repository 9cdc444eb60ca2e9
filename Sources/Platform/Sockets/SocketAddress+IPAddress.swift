package import DNSWire

extension SocketAddress {
    /// - Parameter scope: the interface index, required for an IPv6 link-local address.
    package init(_ address: IPAddress, port: UInt16, scope: UInt32 = 0) {
        switch address {
        case .v4(let value): self.init(ipv4: value, port: port)
        case .v6(let value):
            self.init(
                ipv6: UInt64(truncatingIfNeeded: value >> 64), UInt64(truncatingIfNeeded: value), port: port,
                scope: scope)
        }
    }

    /// The address alone, without port and scope.
    package var ip: IPAddress {
        switch family {
        case .ipv4: .v4(UInt32(truncatingIfNeeded: low))
        case .ipv6: .v6(UInt128(high) << 64 | UInt128(low))
        }
    }
}
