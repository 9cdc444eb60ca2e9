import DNSWire

/// An address that encodes its origin: the source, the name and a number are in its last 32 bits.
struct SimulatedAddress: Hashable {
    /// The source of an address.
    enum Giver: Hashable {
        case provider(Int), localDNS(Int), forwarder(Int)
        case preset, lastResort
        /// An address hint in a record of type HTTPS, as the server returned it.
        case hint
    }

    let giver: Giver
    /// The name's number in `SimulationPlan.names`.
    let name: Int
    /// For a provider, a forwarder and a hint: the number of the response (`Chronicle.Telling`) times two, plus the
    /// address's place in it. For a LocalDNS: its `Conduct.Address` times eight, plus its place.
    let number: Int

    private static let numberBits = 21
    private static let nameBits = 5

    init(_ giver: Giver, name: Int, number: Int) {
        self.giver = giver
        self.name = name
        self.number = number
    }

    /// Nil for an address that no simulated server can have returned.
    init?(_ address: IPAddress) {
        let value: UInt32
        switch address {
        case .v4(let bits): value = bits
        case .v6(let bits):
            guard bits >> 96 == 0x2001_0db8, (bits >> 32) & 0xffff_ffff_ffff_ffff == 0 else { return nil }
            value = UInt32(truncatingIfNeeded: bits)
        }
        let code = Int(value >> UInt32(Self.numberBits + Self.nameBits))
        switch code {
        case 4..<12: giver = .provider(code - 4)
        case 12..<16: giver = .localDNS(code - 12)
        case 16..<20: giver = .forwarder(code - 16)
        case 20: giver = .preset
        case 21: giver = .lastResort
        case 22: giver = .hint
        default: return nil
        }
        name = Int(value >> UInt32(Self.numberBits)) & 31
        number = Int(value) & (1 << Self.numberBits - 1)
    }

    func address(_ type: RecordType) -> IPAddress {
        let code: Int =
            switch giver {
            case .provider(let index): 4 + index
            case .localDNS(let index): 12 + index
            case .forwarder(let index): 16 + index
            case .preset: 20
            case .lastResort: 21
            case .hint: 22
            }
        let value = UInt32((code << Self.nameBits | name) << Self.numberBits | number)
        return type == .a ? .v4(value) : .v6(0x2001_0db8 << 96 | UInt128(value))
    }

    /// The number of the response, for sources that encode it in their addresses.
    var telling: Int { number / 2 }

    /// The kind of a LocalDNS's address; nil for other sources.
    var kind: Conduct.Address? {
        guard case .localDNS = giver else { return nil }
        return Conduct.Address(rawValue: number / 8)
    }
}
