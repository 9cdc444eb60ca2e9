/// The least severe messages that are logged.
package enum LogLevel: String, Hashable, Sendable, CaseIterable {
    case trace, debug, info, notice, warning, error, critical
}

/// How log lines look.
package enum LogFormat: String, Hashable, Sendable, CaseIterable {
    case text, json
}

extension Configuration {
    /// `[log]`.
    package struct LogSettings: SettingsTable {
        package var level = LogLevel.info
        package var format = LogFormat.text
        /// Whether every query is logged.
        package var queries = false
        /// Nil: none.
        package var dnstap: DnstapCollector?

        package init() {}

        static let settings: [Setting<LogSettings>] = [
            Setting("level", \.level, .choice(), shapesAnswers: false, "The least severe messages that are logged."),
            Setting(
                "format", \.format, .choice(), shapesAnswers: false, "Lines for people or JSON objects for programs."),
            Setting("queries", \.queries, .boolean, shapesAnswers: false, "Whether every query is logged."),
            Setting(
                "dnstap", \.dnstap, .optional(.dnstap), shapesAnswers: false,
                "A dnstap collector that is sent every query and response; empty for none."),
        ]
    }
}
