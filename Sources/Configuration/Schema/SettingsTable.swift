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

extension SettingsTable {
    /// Its keys and those of the tables in it, in the order of the file; tables are not listed.
    static var schemaKeys: [SchemaKey] { settings.flatMap(\.keys) }
}

/// A key of a table: its name, what it does, and how it gets into the table's field.
struct Setting<Table: SettingsTable>: Sendable {
    let name: String
    /// Reads a node into the field, which stays as it is when the value is refused.
    let read: @Sendable (TOMLNode, SettingPath, Reading, inout Table) -> Void
    /// Name and value as text, another one for every other value; nil when the key shapes no answer.
    let identity: (@Sendable (Table) -> String)?
    private let describe: @Sendable () -> Description

    private struct Description {
        var key: SchemaKey
        var children: [SchemaKey]
        var isArray: Bool
    }

    /// The keys of the options page: this one, or for a table those inside. Made when asked for: a start has no use for them.
    var keys: [SchemaKey] {
        let described = describe()
        if described.children.isEmpty { return [described.key] }
        return described.children.map { child in
            var key = child
            key.path = name + (described.isArray ? "[]." : ".") + child.path
            return key
        }
    }

    /// - Parameters:
    ///   - shown: the default in words where the field's own default is only a placeholder.
    ///   - shapesAnswers: whether an answer may be another one, or not be given, under another value: cached answers are then
    ///     not those of the same source. Not so for what a question's answer does not depend on (credentials, limits,
    ///     time-outs), nor for what is decided for each query. Of a table: whether one of its keys does.
    ///   - summary: what the key does, one sentence, for the options page.
    init<Value: Equatable & Sendable>(
        _ name: String, _ field: any WritableKeyPath<Table, Value> & Sendable,
        _ kind: @autoclosure @escaping @Sendable () -> Kind<Value>, default shown: String? = nil, shapesAnswers: Bool,
        _ summary: String
    ) {
        self.name = name
        describe = {
            let kind = kind()
            let key = SchemaKey(
                path: name, type: kind.type, range: kind.range,
                defaultText: shown ?? kind.write(Table()[keyPath: field]), shapesAnswers: shapesAnswers,
                summary: summary)
            return Description(key: key, children: kind.children(), isArray: kind.isArrayOfTables)
        }
        let text: @Sendable (Table) -> String = { table in "\(name) = \(kind().write(table[keyPath: field]))" }
        identity = shapesAnswers ? text : nil
        read = { node, path, reading, table in
            guard let value = kind().read(node, path, reading) else { return }
            table[keyPath: field] = value
        }
    }
}
