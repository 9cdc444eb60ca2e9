/// The part of the schema that is read and checked but does nothing yet.
///
/// Whoever builds a part deletes its line here, and its mark in `Documentation/Options.md`; the warning then goes away by
/// itself.
enum NotBuilt {
    /// When a written key is worth the warning.
    enum Condition {
        case notDefault
    }

    /// Keys in the form of `Schema.keys`; a table stands for all keys in it.
    static let keys: [String: Condition] = [
        "control.http": .notDefault
    ]

    static func note(_ path: SettingPath, _ node: TOMLNode, isDefault: Bool, in reading: Reading) {
        let matters =
            switch keys[path.schemaPath] {
            case nil: false
            case .notDefault: !isDefault
            }
        if matters { reading.notBuilt.append(path) }
    }

    /// The single warning about everything noted; nil when there is nothing.
    static func warning(_ reading: Reading) -> Diagnostic? {
        let sorted = reading.notBuilt.map { (path: $0, line: reading.lines.line(of: $0)) }
            .sorted { ($0.line ?? .max, $0.path.description) < ($1.line ?? .max, $1.path.description) }
        let uses = sorted.map { path, line in "\(path)" + (line.map { " (line \($0))" } ?? "") }
        guard !uses.isEmpty else { return nil }
        return Diagnostic(
            file: reading.file, message: "has no effect, because it is not built yet: \(uses.joined(separator: ", "))")
    }
}
