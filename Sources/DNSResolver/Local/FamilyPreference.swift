package import DNSWire

/// Which address family clients are to use (`[answers] prefer`).
///
/// Holds for every route, not for what is answered here, and not for questions with DO or CD: who checks signatures must
/// get what was signed.
package enum FamilyPreference: Sendable {
    /// Either. The default.
    case both
    /// No IPv6 addresses of a name that has IPv4 addresses.
    case ipv4
    /// No IPv4 addresses of a name that has IPv6 addresses.
    case ipv6
    /// No IPv6 addresses, and nobody is asked for them.
    case ipv4Only
    /// No IPv4 addresses, and nobody is asked for them.
    case ipv6Only

    /// Whether there are no records of this type, whatever a name has.
    package func excludes(_ type: RecordType) -> Bool {
        switch self {
        case .ipv4Only: type == .aaaa
        case .ipv6Only: type == .a
        case .both, .ipv4, .ipv6: false
        }
    }

    /// Those of `types` to be asked for when a client wants `wanted`: an excluded family is not, unless it is the one.
    ///
    /// The family that gives way is the last: what one reply tells of both is settled in this order.
    func limiting(_ types: [RecordType], for wanted: RecordType) -> [RecordType] {
        switch self {
        case .both: types
        case .ipv4, .ipv6: types.filter { !yields($0) } + types.filter { yields($0) }
        case .ipv4Only, .ipv6Only: types.filter { $0 == wanted || !excludes($0) }
        }
    }

    /// Whether there are no records of this type for names that have addresses of the other family.
    package func yields(_ type: RecordType) -> Bool {
        switch self {
        case .ipv4: type == .aaaa
        case .ipv6: type == .a
        case .both, .ipv4Only, .ipv6Only: false
        }
    }
}
