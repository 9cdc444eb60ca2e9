extension Configuration {
    /// `[http]`: how HTTP requests leave.
    package struct HTTPSettings: SettingsTable {
        /// Nil: direct. The environment's proxy is never used.
        package var proxy: ServiceURL?

        package init() {}

        static let settings: [Setting<HTTPSettings>] = [
            Setting(
                "proxy", \.proxy, .optional(.url), "The proxy that requests to providers go through; empty for none.")
        ]
    }
}
