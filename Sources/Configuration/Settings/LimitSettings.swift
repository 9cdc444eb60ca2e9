extension Configuration {
    /// `[limits]`: what the server may use.
    package struct LimitSettings: SettingsTable {
        /// Bytes, 32 MiB to 1 TiB. Nil: what the control group allows, if it limits memory.
        package var memory: Int?
        /// Misses a second of one client network at the providers; 0: any number; nil: any number too, but for names that do
        /// not exist where a provider bills or has a limit of calls.
        package var missesPerSecond: Int?
        /// How many of them may come at once.
        package var missesBurst = 400

        package init() {}

        static let settings: [Setting<LimitSettings>] = [
            Setting(
                "memory", \.memory, .optional(.size(in: 32 << 20...1 << 40)),
                shapesAnswers: false,
                "Memory for all that the server holds; empty for what its control group (container, unit) allows."),
            Setting(
                "misses_per_second", \.missesPerSecond, .optional(.integer(in: 0...100_000)), shapesAnswers: false,
                "The names not cached that a client network may ask providers for, a second; 0 for any number; empty:"
                    + " names that do not exist alone are limited, where calls are billed or limited."),
            Setting(
                "misses_burst", \.missesBurst, .integer(in: 2...1_000_000), shapesAnswers: false,
                "How many of them it may ask for at once."),
        ]
    }
}
