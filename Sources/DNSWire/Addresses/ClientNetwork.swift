/// What counts as one client where clients share a bounded resource: an IPv4 address, an IPv6 /64, ::1, or the daemon
/// itself.
///
/// A client picks its address within its IPv6 /64 as it likes (RFC 4291 section 2.5.1, RFC 7217), so counting addresses
/// would bound nothing. An IPv4 address may be shared by many behind a NAT, and cannot be told apart any further; one of
/// 127.0.0.0/8 counts like any other. What the daemon asks on its own counts apart, so that no client takes its place.
package struct ClientNetwork: Hashable, Sendable {
    /// The first 64 bits of an IPv6 address, or an IPv4 address: no client has an IPv6 address below ::/32
    /// (RFC 4291 section 2.5.5), so that the two never meet.
    private let number: UInt64

    /// This machine: ::1, and those that come by no address.
    package static let machine = ClientNetwork(number: .max)
    /// The daemon itself: what it asks for no client, such as the addresses of its services.
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
