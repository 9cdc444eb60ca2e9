/// The unit of clients that share a bounded resource: an IPv4 address, an IPv6 /64, ::1, or the daemon itself.
///
/// A client can choose any address within its IPv6 /64 (RFC 4291 section 2.5.1, RFC 7217), so counting addresses would
/// bound nothing. An IPv4 address may be shared by many clients behind a NAT, which cannot be distinguished; an address
/// of 127.0.0.0/8 counts like any other. Queries of the daemon itself count separately, so that no client displaces
/// them.
package struct ClientNetwork: Hashable, Sendable {
    /// The first 64 bits of an IPv6 address, or an IPv4 address: no client has an IPv6 address below ::/32 (RFC 4291
    /// section 2.5.5), so that the two never collide.
    private let number: UInt64

    /// This machine: ::1, and clients without an address.
    package static let machine = ClientNetwork(number: .max)
    /// The daemon itself: its queries that are for no client, such as those for the addresses of its services.
    package static let daemon = ClientNetwork(number: .max - 1)

    private init(number: UInt64) { self.number = number }

    /// The network of an address; an IPv4-mapped one counts as IPv4.
    package init(_ address: IPAddress) {
        switch address {
        case .v4(let value): self = ClientNetwork(number: UInt64(value))
        case .v6(1): self = .machine
        case .v6(let value) where value >> 32 == 0xffff: self.init(.v4(UInt32(truncatingIfNeeded: value)))
        case .v6(let value): self = ClientNetwork(number: UInt64(truncatingIfNeeded: value >> 64))
        }
    }
}

extension ClientNetwork: CustomStringConvertible {
    /// `192.0.2.1`, `2001:db8::/64`, `this machine`, `the daemon itself`.
    package var description: String {
        if self == .machine { return "this machine" }
        if self == .daemon { return "the daemon itself" }
        if let address = UInt32(exactly: number) { return "\(IPAddress.v4(address))" }
        return "\(IPAddress.v6(UInt128(number) << 64))/64"
    }
}
