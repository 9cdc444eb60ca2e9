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

/// The clients for which an answer is valid, when its source may receive client networks (RFC 7871).
///
/// An answer of one scope is never given to a client of another: the scope is part of the key of a cached answer, and
/// of a question under way.
package enum ClientScope: Hashable, Sendable {
    /// No source received a client network: the client has no public one, or its query forbids sending it, or there is
    /// no client.
    case undisclosed
    /// Clients in this network, which a source may have received.
    case network(AddressPrefix)

    /// The network; nil when no source received one.
    package var network: AddressPrefix? { if case .network(let network) = self { network } else { nil } }
}

extension ClientScope {
    /// Calls `body` with each byte of the scope's form in a key, which follows the name; allocates nothing.
    ///
    /// Only bytes without letter case are used, since names in keys are compared case-insensitively.
    @inline(__always)
    func forEachKeyByte(_ body: (UInt8) -> Void) {
        guard case .network(let network) = self else { return body(0) }
        let length = network.length
        let bits: UInt128
        switch network.address {
        case .v4(let value):
            body(1)
            bits = UInt128(value) &<< 96
        case .v6(let value):
            body(2)
            bits = value
        }
        body(UInt8(truncatingIfNeeded: length &>> 4))
        body(UInt8(truncatingIfNeeded: length & 15))
        var digit = 0
        while digit < (length &+ 7) / 8 &* 2 {
            body(UInt8(truncatingIfNeeded: bits &>> UInt128(124 &- 4 &* digit)) & 15)
            digit &+= 1
        }
    }

    /// The same bytes as an array, where allocation is acceptable.
    var keyBytes: [UInt8] {
        var bytes: [UInt8] = []
        forEachKeyByte { bytes.append($0) }
        return bytes
    }

    /// Parses the bytes of `keyBytes`; nil for anything else.
    package init?(keyBytes: [UInt8]) {
        if keyBytes == [0] {
            self = .undisclosed
            return
        }
        guard keyBytes.count >= 3, keyBytes.allSatisfy({ $0 < 16 }), !keyBytes.count.isMultiple(of: 2) else {
            return nil
        }
        let octets = stride(from: 1, to: keyBytes.count, by: 2).map { keyBytes[$0] << 4 | keyBytes[$0 + 1] }
        let size = keyBytes[0] == 1 ? 4 : 16
        let address = IPAddress(
            bytes: octets.dropFirst() + [UInt8](repeating: 0, count: max(0, size + 1 - octets.count)))
        guard let address, let network = AddressPrefix(address, length: Int(octets[0])),
            ClientScope.network(network).keyBytes == keyBytes
        else { return nil }
        self = .network(network)
    }
}

/// The prefix lengths of client networks that are sent to services.
package struct ClientScoping: Hashable, Sendable {
    /// Prefix length for IPv4, 1 to 32.
    package let bits: Int

    /// - Parameter bits: 1 to 32.
    package init(bits: Int) { self.bits = min(max(bits, 1), 32) }

    /// Prefix length for IPv6: the length of about the same precision. 24 and 56 are the lengths that RFC 7871 section
    /// 11.1 recommends, and more than 56 bits are never sent.
    package var bits6: Int { min(bits + 32, 56) }

    /// The network of a client; nil for an address that is not globally routed, and so is not sent to any service.
    package func network(of client: IPAddress) -> AddressPrefix? {
        guard client.isRouted else { return nil }
        return AddressPrefix(client, length: client.recordType == .a ? bits : bits6)
    }

    /// The scope of a client.
    ///
    /// - Parameter hidesNetwork: whether its query forbids sending its network.
    package func scope(of client: IPAddress, hidesNetwork: Bool) -> ClientScope {
        if hidesNetwork { return .undisclosed }
        return network(of: client).map { .network($0) } ?? .undisclosed
    }
}

/// A network: an address and the number of its significant leading bits.
package struct AddressPrefix: Hashable, Sendable {
    /// The network's address, with host bits cleared.
    package let address: IPAddress
    /// The prefix length in bits: 0 to 32 for IPv4, 0 to 128 for IPv6.
    package let length: Int

    /// Clears the bits beyond `length`; nil when `length` is out of range for the family.
    package init?(_ address: IPAddress, length: Int) {
        switch address {
        case .v4(let value):
            guard (0...32).contains(length) else { return nil }
            self.address = .v4(value & ~(UInt32.max >> UInt32(length)))
        case .v6(let value):
            guard (0...128).contains(length) else { return nil }
            self.address = .v6(value & ~(UInt128.max >> UInt128(length)))
        }
        self.length = length
    }

    /// Whether an address is in the network; false for one of the other family.
    package func contains(_ other: IPAddress) -> Bool {
        switch (address, other) {
        case (.v4(let network), .v4(let value)): network == value & ~(UInt32.max >> UInt32(length))
        case (.v6(let network), .v6(let value)): network == value & ~(UInt128.max >> UInt128(length))
        default: false
        }
    }

    /// Parses `192.0.2.0/24`, `2001:db8::/32`, or an address alone, whose prefix length is that of all its bits.
    package init?(_ text: some StringProtocol) {
        let parts = text.split(separator: "/", maxSplits: 1, omittingEmptySubsequences: false)
        guard let address = IPAddress(parts[0]) else { return nil }
        let full = address.recordType == .a ? 32 : 128
        guard let length = parts.count == 1 ? full : OutsideNumber(digits: parts[1])?.within(0...full) else {
            return nil
        }
        self.init(address, length: length)
    }
}

extension AddressPrefix: CustomStringConvertible {
    package var description: String { "\(address)/\(length)" }
}
