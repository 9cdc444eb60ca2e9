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
