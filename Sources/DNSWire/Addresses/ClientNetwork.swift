/// The unit of clients that share a bounded resource: an IPv4 address, an IPv6 /64, ::1, a program of this machine, or the
/// daemon itself.
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

    /// All clients that the access list leaves out, where they are answered at all.
    package static let strangers = ClientNetwork(number: .max - 2)

    /// The first bits of a program's: as an address those of multicast, which no client has.
    private static let programs: UInt64 = 0xff << 56

    /// The programs of one user and one control group of this machine, where these are known.
    ///
    /// - Parameter group: its number, of which the last 24 bits count.
    package init(user: UInt32, group: UInt64) { number = Self.programs | (group & 0xff_ffff) << 32 | UInt64(user) }

    /// The user of a program, and the last 24 bits of the number of its control group; nil for any other client.
    package var program: (user: UInt32, group: UInt64)? {
        guard number >= Self.programs, number < Self.strangers.number else { return nil }
        return (UInt32(truncatingIfNeeded: number), number >> 32 & 0xff_ffff)
    }

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

extension ClientNetwork {
    /// The larger IPv6 network that this one is in, as its first bits; nil for any other, of which no address says how large
    /// a site is.
    ///
    /// - Parameter size: its length, 32 to 64.
    package func site(_ size: Int) -> UInt64? {
        guard number > UInt64(UInt32.max), number < Self.programs else { return nil }
        return number >> UInt64(64 - size)
    }
}

extension ClientNetwork: CustomStringConvertible {
    /// `192.0.2.1`, `2001:db8::/64`, `this machine`, `the daemon itself`, `clients that are not allowed`,
    /// `user 1000 of this machine`.
    package var description: String {
        if self == .machine { return "this machine" }
        if self == .daemon { return "the daemon itself" }
        if self == .strangers { return "clients that are not allowed" }
        if let program { return "user \(program.user) of this machine" }
        if let address = UInt32(exactly: number) { return "\(IPAddress.v4(address))" }
        return "\(IPAddress.v6(UInt128(number) << 64))/64"
    }
}
