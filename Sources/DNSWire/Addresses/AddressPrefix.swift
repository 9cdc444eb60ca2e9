/// A network: an address and the number of its significant leading bits.
public struct AddressPrefix: Hashable, Sendable {
    /// The network's address, with host bits cleared.
    public let address: IPAddress
    /// The prefix length in bits: 0 to 32 for IPv4, 0 to 128 for IPv6.
    public let length: Int

    /// Clears the bits beyond `length`; nil when `length` is out of range for the family.
    public init?(_ address: IPAddress, length: Int) {
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
    public func contains(_ other: IPAddress) -> Bool {
        switch (address, other) {
        case (.v4(let network), .v4(let value)): network == value & ~(UInt32.max >> UInt32(length))
        case (.v6(let network), .v6(let value)): network == value & ~(UInt128.max >> UInt128(length))
        default: false
        }
    }

    /// Parses `192.0.2.0/24`, `2001:db8::/32`, or an address alone, whose prefix length is that of all its bits.
    public init?(_ text: some StringProtocol) {
        let slash = text.utf8.firstIndex(of: UInt8(ascii: "/")) ?? text.endIndex
        guard let address = IPAddress(text[..<slash]) else { return nil }
        let full = address.recordType == .a ? 32 : 128
        let digits = text.utf8[slash...].dropFirst()
        guard let length = slash == text.endIndex ? full : OutsideNumber(digits: digits)?.within(0...full) else {
            return nil
        }
        self.init(address, length: length)
    }
}

extension AddressPrefix: CustomStringConvertible {
    public var description: String { "\(address)/\(length)" }
}

/// The IPv6 prefix by which a translator (NAT64) makes IPv4 addresses reachable for hosts that have IPv6 alone (RFC 6052).
public struct NAT64Prefix: Hashable, Sendable {
    /// How many bits a prefix may have (RFC 6052 section 2.2), the longest first.
    public static let lengths = [96, 64, 56, 48, 40, 32]

    /// An IPv6 network of one of `lengths`.
    public let network: AddressPrefix

    /// The bits of the prefix, those behind it cleared.
    private let bits: UInt128
    /// How many bits of an embedded address stand before bits 64 to 71, which are zero (RFC 6052 section 2.2): 0 to 32. With 96
    /// bits the whole address stands behind them.
    private let leading: UInt32

    /// Takes a network of one of `lengths` in 2000::/3, fc00::/7 or 64:ff9b::/32: other ones lead to no translator, but to
    /// this machine, its link or a group. Bits 64 to 71 are zero.
    public init?(_ network: AddressPrefix) {
        guard case .v6(let bits) = network.address, Self.lengths.contains(network.length),
            bits >> 125 == 1 || bits >> 121 == 0xfc >> 1 || bits >> 96 == 0x64_ff9b,
            bits & Self.reserved == 0
        else { return nil }
        self.network = network
        self.bits = bits
        leading = network.length < 64 ? UInt32(truncatingIfNeeded: 64 &- network.length) : 0
    }

    /// The IPv6 address that stands for an IPv4 address (RFC 6052 section 2.2). Nil for one that no translator leads to:
    /// loopback, link-local, multicast, reserved, and with the well-known prefix 64:ff9b::/96 a private one (section 3.1).
    public func address(for ipv4: IPAddress) -> IPAddress? {
        guard case .v4(let value) = ipv4, ipv4.isRouted || ipv4.isPrivate && !isWellKnown else { return nil }
        return .v6(bits | embedded(value))
    }

    /// The zone of the reverse names of its addresses (RFC 3596 section 2.5).
    public var reverseZone: Name {
        let digits = network.address.bytes.prefix(network.length / 8).flatMap { [$0 >> 4, $0 & 15] }
        let labels = digits.reversed().map { String($0, radix: 16) + "." }
        return (try? Name(labels.joined() + "ip6.arpa")) ?? .root
    }

    private var isWellKnown: Bool { bits == Self.wellKnown && network.length == 96 }

    /// The bits of an IPv4 address in their places.
    private func embedded(_ value: UInt32) -> UInt128 {
        guard network.length < 96 else { return UInt128(value) }
        let high = UInt128(value) >> UInt128(32 &- leading)
        let low = UInt128(value) & (UInt128(1) << UInt128(32 &- leading) &- 1)
        return high << 64 | low << UInt128(24 &+ leading)
    }

    /// Bits 64 to 71.
    private static let reserved: UInt128 = 0xff << 56
    /// The bits of 64:ff9b::/96 (RFC 6052 section 2.1).
    private static let wellKnown: UInt128 = 0x64_ff9b << 96
    /// 192.0.0.170 and 192.0.0.171, the addresses of ipv4only.arpa (RFC 7050 section 8.2).
    private static let knownAddresses: [UInt32] = [0xc000_00aa, 0xc000_00ab]
}

extension NAT64Prefix {
    /// The prefixes by which the network's resolver made AAAA records of the addresses of ipv4only.arpa (RFC 7050 section 3),
    /// each once, in the order of the records.
    ///
    /// An address that holds 192.0.0.170 or 192.0.0.171 at more than one place is ignored, as is one that holds them
    /// nowhere.
    public static func prefixes(in addresses: [IPAddress]) -> [NAT64Prefix] {
        var found: [NAT64Prefix] = []
        for address in addresses {
            guard let prefix = prefix(in: address), !found.contains(prefix) else { continue }
            found.append(prefix)
        }
        return found
    }

    private static func prefix(in address: IPAddress) -> NAT64Prefix? {
        guard case .v6(let value) = address else { return nil }
        let candidates = lengths.compactMap { length -> NAT64Prefix? in
            guard let network = AddressPrefix(address, length: length), let prefix = NAT64Prefix(network),
                knownAddresses.contains(where: { value & prefix.embedded(.max) == prefix.embedded($0) })
            else { return nil }
            return prefix
        }
        return candidates.count == 1 ? candidates[0] : nil
    }

    /// Reads `64:ff9b::/96`; nil for anything that is no such prefix.
    public init?(_ text: some StringProtocol) {
        guard let network = AddressPrefix(text) else { return nil }
        self.init(network)
    }
}

extension NAT64Prefix: CustomStringConvertible {
    public var description: String { network.description }
}
