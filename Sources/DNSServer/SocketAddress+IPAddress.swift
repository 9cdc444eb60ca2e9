import DNSWire
import Platform

extension SocketAddress {
    /// The address without port and interface.
    var ip: IPAddress {
        family == .ipv4 ? .v4(UInt32(truncatingIfNeeded: low)) : .v6(UInt128(high) << 64 | UInt128(low))
    }
}
