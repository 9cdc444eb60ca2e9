import DNSResolver
import DNSWire

/// What a shared value answers: a name with one type, or with both families of addresses where a provider answers them
/// together. It is sealed for one of these, and is of no use for another.
struct SharedQuestion: Equatable {
    /// Of the format of all that is shared; part of the associated data too. Values of another version are no answers.
    static let version: UInt8 = 2

    /// Lower-cased.
    let name: Name
    /// One, or A and AAAA.
    let types: [RecordType]
    /// All that distinguishes it, in a form without ambiguity: the associated data of a seal.
    let bytes: [UInt8]

    /// - Parameters:
    ///   - types: one, or A and AAAA; what is asked of one provider together is always the same under one policy.
    ///   - policy: which providers may decide, and by which rules; always of one length.
    init(_ key: FlightKey, _ types: [RecordType], policy: [UInt8]) {
        name = key.name
        self.types = types
        // Shorter than 256 bytes: an address and its length.
        let scope = key.scope.map { Array(($0.network.map(Self.text) ?? "undisclosed").utf8) } ?? []
        let flags: UInt8 =
            (key.dnssecOK ? 1 : 0) | (key.checkingDisabled ? 2 : 0) | (types.count > 1 ? 4 : 0)
        let type = types.first?.rawValue ?? 0
        var bytes: [UInt8] = []
        bytes.reserveCapacity(policy.count + scope.count + 262)
        bytes.append(Self.version)
        bytes += policy
        bytes.append(UInt8(type >> 8))
        bytes.append(UInt8(truncatingIfNeeded: type))
        bytes.append(flags)
        bytes.append(UInt8(truncatingIfNeeded: scope.count))
        bytes += scope
        bytes += key.name.wire
        self.bytes = bytes
    }

    private static func text(_ network: AddressPrefix) -> String { "\(network.address)/\(network.length)" }
}
