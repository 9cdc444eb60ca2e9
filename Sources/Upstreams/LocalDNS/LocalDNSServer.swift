package import DNSWire
import Platform

/// A resolver of the network: its address for UDP and TCP.
package struct LocalDNSServer: Hashable, Sendable {
    /// The port of DNS (RFC 1035 section 4.2).
    package static let standardPort: UInt16 = 53

    package let address: IPAddress
    package let port: UInt16
    /// The name of the network interface to which queries are bound; a link-local address cannot be reached without it.
    package let interface: String?
    /// Whether it is queried over TCP alone, as `options use-vc` demands.
    package let usesTCP: Bool

    package init(
        _ address: IPAddress, port: UInt16 = LocalDNSServer.standardPort, interface: String? = nil,
        usesTCP: Bool = false
    ) {
        self.address = address
        self.port = port
        self.interface = interface
        self.usesTCP = usesTCP
    }
}

extension LocalDNSServer: CustomStringConvertible {
    /// `192.0.2.53:53`, `[fe80::1%eth0]:53`.
    package var description: String {
        let zone = interface.map { "%\($0)" } ?? ""
        return switch address {
        case .v4: "\(address)\(zone):\(port)"
        case .v6: "[\(address)\(zone)]:\(port)"
        }
    }
}

extension IPAddress {
    /// The address that is actually reached: loopback for `0.0.0.0` and `::`, IPv4 for an IPv4-mapped address.
    var effective: IPAddress {
        switch self {
        case .v4(0): .v4(0x7f00_0001)
        case .v6(0): .v6(1)
        case .v6(let value) where value >> 32 == 0xffff: .v4(UInt32(truncatingIfNeeded: value))
        default: self
        }
    }
}
