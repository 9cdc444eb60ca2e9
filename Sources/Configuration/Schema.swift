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

    /// Whether it has an effect already; if not, a file that sets it is warned about.
    package var isBuilt: Bool { !NotBuilt.keys.contains(path) }
}

/// Every key of the configuration, made from the settings that the decoder itself reads with.
package enum Schema {
    /// In the order of the file; tables are not listed, only what is in them.
    package static let keys: [SchemaKey] = keys(of: Configuration.self)

    static func keys<Table: SettingsTable>(of: Table.Type) -> [SchemaKey] {
        Table.settings.flatMap(\.keys)
    }
}

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

/// A key of a table: its name, what it does, and how it gets into the table's field.
struct Setting<Table: SettingsTable>: Sendable {
    let name: String
    /// Reads a node into the field. Nil when the value was refused, else whether it is the default.
    let read: @Sendable (TOMLNode, SettingPath, Reading, inout Table) -> Bool?
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
    ///   - summary: what the key does, one sentence, for the options page.
    init<Value: Equatable & Sendable>(
        _ name: String, _ field: any WritableKeyPath<Table, Value> & Sendable,
        _ kind: @autoclosure @escaping @Sendable () -> Kind<Value>, default shown: String? = nil, _ summary: String
    ) {
        self.name = name
        describe = {
            let kind = kind()
            let key = SchemaKey(
                path: name, type: kind.type, range: kind.range,
                defaultText: shown ?? kind.write(Table()[keyPath: field]), summary: summary)
            return Description(key: key, children: kind.children(), isArray: kind.isArrayOfTables)
        }
        read = { node, path, reading, table in
            guard let value = kind().read(node, path, reading) else { return nil }
            table[keyPath: field] = value
            return value == Table()[keyPath: field]
        }
    }
}
