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
    /// Whether an answer may be another one under another value, as `Setting` says.
    package var shapesAnswers: Bool
    /// What it does, one sentence.
    package var summary: String
}
