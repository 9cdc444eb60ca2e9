package import DNSWire

/// How strictly addresses that LocalDNS gives for protected names are checked: `[localdns] certificate_check` and
/// `unverified`.
package struct CertificateRule: Hashable, Sendable {
    /// `[localdns] certificate_check`.
    package enum Setting: Hashable, Sendable {
        /// Strict for names in a list, lenient for the rest. The default.
        case auto
        case strict, lenient, off
    }

    /// What happens to an address that is neither verified nor detected as forged.
    package enum Level: Hashable, Sendable {
        /// It is discarded.
        case strict
        /// It is used when there is nothing better.
        case lenient
    }

    package let setting: Setting
    /// Suffixes whose servers have no TLS.
    package let unverified: [Name]

    package init(_ setting: Setting = .auto, unverified: [Name] = []) {
        self.setting = setting
        self.unverified = unverified
    }

    /// How addresses of a name are checked; nil: they are accepted unchecked.
    package func level(for name: Name, by route: Route) -> Level? {
        guard case .protect(let isExplicit) = route, !unverified.contains(where: { name.isWithin($0) }) else {
            return nil
        }
        return switch setting {
        case .auto: isExplicit ? .strict : .lenient
        case .strict: .strict
        case .lenient: .lenient
        case .off: nil
        }
    }
}
