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

extension Configuration {
    /// `[answers]`.
    package struct AnswerSettings: SettingsTable {
        package var prefer = AnsweredFamilies.both
        package var httpsRecords = HTTPSRecords.protect

        package init() {}

        static let settings: [Setting<AnswerSettings>] = [
            Setting("prefer", \.prefer, .choice(), "Which address families answers hold."),
            Setting(
                "https_records", \.httpsRecords, .choice(),
                "Whether HTTPS and SVCB records of protected names are held back or passed on."),
        ]
    }
}
