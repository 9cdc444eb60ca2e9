/// A table of the configuration: a value with defaults and the settings that a file may change in it.
protocol SettingsTable: Equatable, Sendable {
    /// All defaults.
    init()
    /// Every key of the table, and nothing else.
    static var settings: [Setting<Self>] { get }
    /// Called once the table was read, to check and complete what depends on several of its keys.
    mutating func finish(at path: SettingPath, _ reading: Reading)
}

extension SettingsTable {
    mutating func finish(at path: SettingPath, _ reading: Reading) {}
}
