package import DNSWire

/// Whether IPv6 addresses are made of the IPv4 addresses of protected names (DNS64, RFC 6147), and by which prefix.
package enum Translation: Hashable, Sendable {
    /// No. The default.
    case none
    /// The network is being asked for its prefix: what would depend on that waits for it, for a second at most.
    case awaited
    /// By this prefix.
    case prefix(NAT64Prefix)

    /// How long an answer is held back while the prefix is awaited. The policy with the prefix then answers the client.
    static let longestWait = Duration.seconds(1)
}

extension Translation: CustomStringConvertible {
    /// The prefix, or why there is none.
    package var description: String {
        switch self {
        case .none: "none"
        case .awaited: "awaited"
        case .prefix(let prefix): prefix.description
        }
    }
}

extension NAT64Prefix {
    /// The answer to AAAA that stands for one to A: the same aliases, and a record for each address that can be translated
    /// (RFC 6147 section 5.1.7).
    ///
    /// - Parameter longest: seconds that no TTL of the addresses exceeds.
    /// - Returns: nil when no address can be translated.
    func translated(_ answer: Answer, longest: UInt32) -> Answer? {
        let records = answer.answers.compactMap { record -> Record? in
            guard let ipv4 = record.address else { return record.type == .rrsig ? nil : record }
            return address(for: ipv4).map { Record(name: record.name, address: $0, ttl: min(record.ttl, longest)) }
        }
        return records.contains { $0.type == .aaaa } ? Answer(answers: records) : nil
    }
}

extension Answer {
    /// Seconds for which "no address of this family" may be cached as answered, which bounds what is made in its place: its SOA's, or
    /// 600 without one (RFC 6147 section 5.1.7).
    var translationTTL: UInt32 {
        authorities.first { $0.type == .soa }.map { min($0.ttl, $0.soaMinimum ?? $0.ttl) } ?? 600
    }

    /// Whether there are signatures, which a client that wants them could check: then nothing is made of the answer, nor in
    /// its place (RFC 6147 section 5.5).
    var hasSignatures: Bool {
        answers.contains { $0.type == .rrsig } || authorities.contains { $0.type == .rrsig }
    }
}

/// The address family that clients are to use (`[answers] prefer`).
///
/// Applies to every route, but not to local answers, nor to questions with DO or CD: a client that validates signatures
/// must get what was signed.
package enum FamilyPreference: String, CaseIterable, Sendable {
    /// Either. The default.
    case both
    /// No IPv6 addresses of a name that has IPv4 addresses.
    case ipv4
    /// No IPv4 addresses of a name that has IPv6 addresses.
    case ipv6
    /// No IPv6 addresses, and no source is asked for them.
    case ipv4Only = "ipv4-only"
    /// No IPv4 addresses, and no source is asked for them, unless IPv6 addresses are made of them.
    case ipv6Only = "ipv6-only"

    /// Whether records of this type are never answered, whatever a name has.
    package func excludes(_ type: RecordType) -> Bool {
        switch self {
        case .ipv4Only: type == .aaaa
        case .ipv6Only: type == .a
        case .both, .ipv4, .ipv6: false
        }
    }

    /// The `types` to ask for when a client wants `wanted`: without an excluded family, unless that is `wanted`.
    ///
    /// - Parameter isTranslating: whether IPv6 addresses are made of IPv4 addresses.
    func limiting(_ types: [RecordType], for wanted: RecordType, isTranslating: Bool = false) -> [RecordType] {
        switch self {
        case .both, .ipv4, .ipv6: types
        case .ipv6Only where isTranslating: types
        case .ipv4Only, .ipv6Only: types.filter { $0 == wanted || !excludes($0) }
        }
    }

    /// The type whose records are suppressed for names that have addresses of the other family.
    package var yielding: RecordType? {
        switch self {
        case .ipv4: .aaaa
        case .ipv6: .a
        case .both, .ipv4Only, .ipv6Only: nil
        }
    }
}
