import DNSWire
import Racing

extension ResolverPolicy {
    /// Whether a name's AAAA is made of its A when a provider answers none (RFC 6147).
    ///
    /// A client that checks signatures itself gets what was answered (RFC 6147 section 5.5), and clients that are to use IPv4
    /// get no IPv6 addresses.
    func translates(_ type: RecordType, _ key: FlightKey) -> Bool {
        guard isTranslating, type == .aaaa, !key.checkingDisabled, case .protect = key.route else { return false }
        return localAnswers.families.yielding != .aaaa && !localAnswers.families.excludes(.aaaa)
    }

    /// The family that is suppressed where a name has addresses of the other one: none for clients that check signatures.
    func yielding(_ key: FlightKey) -> Race.Part? {
        key.isSigned ? nil : localAnswers.families.yielding.map { $0 == .a ? .a : .aaaa }
    }
}
