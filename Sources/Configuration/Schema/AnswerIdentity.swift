/// What the answers of a source depend on in the configuration: every setting of a table that shapes them, and no other.
///
/// While it stays the same, cached answers stay answers of the same source, through a reload and, by its text, a restart.
package struct AnswerIdentity: Hashable, Sendable {
    /// The same in every process, and another one for every other value of such a setting; it holds no secret.
    package let text: String

    init<Table: SettingsTable>(_ table: Table) {
        text = "{" + Table.settings.compactMap { $0.identity?(table) }.joined(separator: ", ") + "}"
    }
}
