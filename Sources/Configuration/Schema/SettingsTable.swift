/// A table of the configuration: a value with defaults and the settings that a file may change in it.
protocol SettingsTable: Equatable, Sendable {
    /// All defaults.
    init()
    /// Every key of the table, and nothing else.
    static var settings: [Setting<Self>] { get }
    /// Called once the table was read, to check and complete what depends on several of its keys.
    mutating func finish(_ keys: TableKeys)
}

extension SettingsTable {
    mutating func finish(_ keys: TableKeys) {}
}

extension SettingsTable {
    /// Its keys and those of the tables in it, in the order of the file; tables are not listed.
    static var schemaKeys: [SchemaKey] { settings.flatMap(\.keys) }
}

/// The keys of one table in the file, for checks that concern several of them.
struct TableKeys {
    let path: SettingPath
    let reading: Reading

    /// The place of a key.
    subscript(key: String) -> SettingPath { path.appending(key: key) }

    /// Whether the file holds the key.
    func isWritten(_ key: String) -> Bool { reading.written.contains(self[key]) }

    /// Whether nothing is wrong with the key's value.
    func isSound(_ key: String) -> Bool { reading.isSound(self[key]) }

    /// Whether nothing is wrong with the key or its name: what it lacks is not reported as missing too.
    func isUsable(_ key: String) -> Bool { isSound(key) && !reading.isMisspelt(self[key]) }

    func fail(_ key: String, _ message: String) { reading.fail(self[key], message) }

    func warn(_ key: String, _ message: String) { reading.warn(self[key], message) }
}

/// A key of a table: its name, and how its value gets into the table's field.
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
    init<Value: Equatable & Sendable>(
        _ name: String, _ field: any WritableKeyPath<Table, Value> & Sendable,
        _ kind: @autoclosure @escaping @Sendable () -> Kind<Value>, default shown: String? = nil,
        shapesAnswers: Bool = false
    ) {
        self.name = name
        describe = {
            let kind = kind()
            let key = SchemaKey(
                path: name, type: kind.type, range: kind.range,
                defaultText: shown ?? kind.write(Table()[keyPath: field]), shapesAnswers: shapesAnswers)
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

/// Every key of the configuration, made from the settings that the decoder itself reads with.
package enum Schema {
    /// In the order of the file; tables are not listed, only what is in them.
    package static let keys: [SchemaKey] = Configuration.schemaKeys
}

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
}

// Tables as values of keys: their keys, by the settings of their type.

extension SettingsTable {
    /// Reads the pairs of a table into its defaults, and reports the keys that it does not know; nil for what is no
    /// table, and for an entry in which every value was left out.
    static func read(_ node: TOMLNode, _ path: SettingPath, _ reading: Reading) -> Self? {
        guard case .table(let content) = node.value else {
            reading.fail(path, "must be a table, not \(node.kindName); write its keys below [\(path)]")
            return nil
        }
        var table = Self()
        var (leftOut, used) = (0, 0)
        for (key, value) in content.pairs {
            let place = path.appending(key: key)
            guard let setting = settings.first(where: { $0.name == key }) else {
                reading.failUnknown(place, key, known: settings.map(\.name))
                continue
            }
            guard !reading.isLeftOut(value) else {
                leftOut += 1
                continue
            }
            used += 1
            reading.noteWritten(place)
            setting.read(value, place, reading, &table)
        }
        if case .entry? = path.parts.last, leftOut > 0, used == 0 {
            reading.noteLeftOut(entry: path)
            return nil
        }
        table.finish(TableKeys(path: path, reading: reading))
        return table
    }
}

extension Kind where Value: SettingsTable {
    static var table: Kind {
        Kind(
            type: "table", read: { Value.read($0, $1, $2) }, write: { AnswerIdentity($0).text },
            children: { Value.schemaKeys })
    }
}

extension Kind {
    /// An array of tables, in the order of the file. An entry that is no table is reported and left out; one in which
    /// every value is an empty variable is left out, and must not stand before others.
    static func tables<Table: SettingsTable>() -> Kind where Value == [Table] {
        Kind(
            type: "tables",
            read: { node, path, reading in
                guard case .array(let nodes) = node.value else {
                    reading.fail(path, "must be written [[\(path)]] with two brackets, once for each entry")
                    return nil
                }
                return nodes.enumerated().compactMap { index, node in
                    let place = path.appending(entry: index + 1)
                    let table = Table.read(node, place, reading)
                    // Paths count the entries of the file.
                    if table != nil, let earlier = reading.leftOutEntries.first(where: { $0.parent == path }) {
                        reading.fail(
                            earlier, "has only empty variables, while \(place) after it is in use: fill it first")
                    }
                    return table
                }
            }, write: { "[" + $0.map { AnswerIdentity($0).text }.joined(separator: ", ") + "]" },
            children: { Table.schemaKeys }, isArrayOfTables: true)
    }
}

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
