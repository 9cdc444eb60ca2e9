/// The part of the schema that is read and checked but does nothing yet.
///
/// The change that builds a part deletes its line here, and its mark in `Documentation/Options.md`; the warning then ends by
/// itself.
enum NotBuilt {
    /// Keys in the form of `Schema.keys`.
    static let keys: Set<String> = ["control.http"]

    /// Notes a written key; one that is written with its default asks for nothing.
    static func note(_ path: SettingPath, isDefault: Bool, in reading: Reading) {
        if !isDefault, keys.contains(path.schemaPath) { reading.notBuilt.append(path) }
    }

    /// The single warning about everything noted; nil when there is nothing.
    static func warning(_ reading: Reading) -> Diagnostic? {
        let sorted = reading.notBuilt.map { (path: $0, line: reading.line(of: $0)) }
            .sorted { ($0.line ?? .max, $0.path.description) < ($1.line ?? .max, $1.path.description) }
        let uses = sorted.map { path, line in "\(path)" + (line.map { " (line \($0))" } ?? "") }
        guard !uses.isEmpty else { return nil }
        return Diagnostic(
            file: reading.file, message: "has no effect, because it is not built yet: \(uses.joined(separator: ", "))")
    }
}
