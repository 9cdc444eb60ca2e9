extension Configuration {
    /// `[control]`: how a running server is queried and controlled.
    package struct ControlSettings: SettingsTable {
        /// Absolute, at most 107 bytes; empty: none.
        package var socket = "/run/httpdnsd/control.sock"
        /// Nil: none.
        package var http: AddressAndPort?

        package init() {}

        static let settings: [Setting<ControlSettings>] = [
            Setting(
                "socket", \.socket, .path(limit: 107), shapesAnswers: false,
                "The Unix socket for commands; empty for none."),
            Setting(
                "http", \.http, .optional(.listener), shapesAnswers: false,
                "Address and port for metrics and health; empty for none."),
        ]
    }
}
