package import DNSWire

/// The address family that clients are to use (`[answers] prefer`).
///
/// Applies to every route, but not to local answers, nor to questions with DO or CD: a client that validates signatures
/// must get what was signed.
package enum FamilyPreference: Sendable {
    /// Either. The default.
    case both
    /// No IPv6 addresses of a name that has IPv4 addresses.
    case ipv4
    /// No IPv4 addresses of a name that has IPv6 addresses.
    case ipv6
    /// No IPv6 addresses, and no source is asked for them.
    case ipv4Only
    /// No IPv4 addresses, and no source is asked for them, unless IPv6 addresses are made of them.
    case ipv6Only

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
