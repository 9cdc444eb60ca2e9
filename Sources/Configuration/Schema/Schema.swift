/// One key of the configuration, for the options page and for messages.
package struct SchemaKey: Hashable, Sendable {
    /// `listen.udp_threads`, `provider[].type`, `cache.stale.max`.
    package var path: String
    /// `duration`, `list of suffixes`, ...
    package var type: String
    /// Range, unit or choices; nil where the type says it all.
    package var range: String?
    /// As it would be written in the file; for a value that depends on others, what it is.
    package var defaultText: String
    /// What it does, one sentence.
    package var summary: String
}

/// Every key of the configuration, made from the settings that the decoder itself reads with.
package enum Schema {
    /// In the order of the file; tables are not listed, only what is in them.
    package static let keys: [SchemaKey] = keys(of: Configuration.self)

    static func keys<Table: SettingsTable>(of: Table.Type) -> [SchemaKey] {
        Table.settings.flatMap(\.keys)
    }
}
