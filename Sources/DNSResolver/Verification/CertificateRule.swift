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

    package let setting: Setting
    /// Suffixes whose servers have no TLS.
    package let unverified: [Name]

    package init(_ setting: Setting = .auto, unverified: [Name] = []) {
        self.setting = setting
        self.unverified = unverified
    }
}
