import DNSResolver
import DNSWire

/// What a shared answer answers: it is sealed for one of these, and is of no use for another.
struct SharedQuestion: Equatable {
    /// Of the format of all that is shared; part of the associated data too. Values of another version are no answers.
    static let version: UInt8 = 1

    /// Lower-cased.
    let question: Question
    /// All that distinguishes it, in a form without ambiguity: the associated data of a seal.
    let bytes: [UInt8]

    /// - Parameter policy: which providers may decide, and by which rules; always of one length.
    init(_ key: FlightKey, _ type: RecordType, policy: [UInt8]) {
        question = Question(name: key.name, type: type)
        // Shorter than 256 bytes: an address and its length.
        let scope = key.scope.map { Array(($0.network.map(Self.text) ?? "undisclosed").utf8) } ?? []
        let flags: UInt8 = (key.dnssecOK ? 1 : 0) | (key.checkingDisabled ? 2 : 0)
        bytes =
            [Self.version] + policy
            + [UInt8(type.rawValue >> 8), UInt8(truncatingIfNeeded: type.rawValue), flags]
            + [UInt8(truncatingIfNeeded: scope.count)] + scope + key.name.wire
    }

    private static func text(_ network: AddressPrefix) -> String { "\(network.address)/\(network.length)" }
}
