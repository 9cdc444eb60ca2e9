package import DNSWire

/// Which address families answers hold.
package enum AnsweredFamilies: String, Hashable, Sendable, CaseIterable {
    case both, ipv4, ipv6
    case ipv4Only = "ipv4-only"
    case ipv6Only = "ipv6-only"
}

/// What becomes of HTTPS and SVCB questions for protected names.
package enum HTTPSRecords: String, Hashable, Sendable, CaseIterable {
    /// NODATA, unless a provider answers them with authentication.
    case protect
    /// Passed on like any other type.
    case forward
}

/// What becomes of addresses of local networks in answers for protected names.
package enum PrivateAddresses: String, Hashable, Sendable, CaseIterable {
    case keep, drop
}

extension Configuration {
    /// `[answers]`.
    package struct AnswerSettings: SettingsTable {
        package var prefer = AnsweredFamilies.both
        /// Whether the addresses of an answer go out in turn.
        package var rotate = true
        package var httpsRecords = HTTPSRecords.protect
        /// Networks whose addresses are dropped from answers for protected names.
        package var bogus: [AddressPrefix] = []
        package var privateAddresses = PrivateAddresses.keep
        /// Suffixes of names that may have private addresses all the same.
        package var privateNames: [Name] = []

        package init() {}

        static let settings: [Setting<AnswerSettings>] = [
            Setting("prefer", \.prefer, .choice(), shapesAnswers: false, "Which address families answers hold."),
            Setting(
                "rotate", \.rotate, .boolean, shapesAnswers: false,
                "Whether each client gets the addresses of an answer in another order."),
            Setting(
                "https_records", \.httpsRecords, .choice(),
                shapesAnswers: true, "Whether HTTPS and SVCB records of protected names are held back or passed on."),
            Setting(
                "bogus", \.bogus, .list(of: .prefix, "list of networks"),
                shapesAnswers: true, "Networks whose addresses no answer for a protected name holds."),
            Setting(
                "private_addresses", \.privateAddresses, .choice(),
                shapesAnswers: true, "Whether protected names may have addresses of local networks."),
            Setting(
                "private_names", \.privateNames, .list(of: .suffix, "list of suffixes"),
                shapesAnswers: true, "Protected names that may have addresses of local networks in any case."),
        ]
    }
}
