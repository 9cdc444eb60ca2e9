extension Configuration {
    /// `[limits]`: what the server may use.
    package struct LimitSettings: SettingsTable {
        /// Bytes, 32 MiB to 1 TiB. Nil: what the control group allows, if it limits memory.
        package var memory: Int?

        package init() {}

        static let settings: [Setting<LimitSettings>] = [
            Setting(
                "memory", \.memory, .optional(.size(in: 32 << 20...1 << 40)),
                shapesAnswers: false,
                "Memory for all that the server holds; empty for what its control group (container, unit) allows.")
        ]
    }
}
