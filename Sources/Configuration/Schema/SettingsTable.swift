import Glibc
import Platform
import Synchronization

/// A table of the configuration: a value with defaults. Its keys are the properties that are marked with `@Setting`, in the
/// order of the file.
protocol SettingsTable: Equatable, Sendable {
    /// All defaults.
    init()
    /// Called once the table was read, to check and complete what depends on several of its keys.
    mutating func finish(_ keys: TableKeys)
}

extension SettingsTable {
    mutating func finish(_ keys: TableKeys) {}

    var settings: [any SettingKey] { Mirror(reflecting: self).children.compactMap { $0.value as? any SettingKey } }

    /// What the answers of a source depend on: every setting of the table that shapes them, and no other; it holds no secret.
    /// While it stays the same, through a reload or a restart, cached answers stay answers of the same source.
    var identity: String { "{" + settings.compactMap(\.identity).joined(separator: ", ") + "}" }

    /// Its keys whose values are not the defaults.
    var changedKeys: [String] { zip(settings, Self().settings).filter { $0.text != $1.text }.map(\.0.name) }

    /// Its keys and those of the tables in it; tables are not listed.
    static var schemaKeys: [SchemaKey] { Self().settings.flatMap(\.keys) }

    /// Reads some tables of a document into the defaults; what holds for it as a whole is not looked at.
    static func read(only names: Set<String>, of document: TOMLNode, _ reading: Reading) -> Self {
        let root = Self()
        for setting in root.settings where names.contains(setting.name) {
            if let node = document[setting.name] { setting.read(node, SettingPath(setting.name), reading) }
        }
        return root
    }

    /// Reads the pairs of a table into its defaults, and reports the keys that it does not know; nil for what is no
    /// table, and for an entry in which every value was left out.
    static func read(_ node: TOMLNode, _ path: SettingPath, _ reading: Reading) -> Self? {
        guard let content = node.table else {
            reading.fail(path, "must be a table, not \(node.kindName); write its keys below [\(path)]")
            return nil
        }
        var table = Self()
        let settings = table.settings
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
            reading.written.insert(place)
            setting.read(value, place, reading)
        }
        if case .entry? = path.parts.last, leftOut > 0, used == 0 {
            reading.leftOutEntries.append(path)
            return nil
        }
        table.finish(TableKeys(path: path, reading: reading))
        return table
    }
}

/// A property of a table that a key of the file sets: its name, and how its value is read.
@propertyWrapper
public struct Setting<Value: Sendable>: Sendable {
    /// Shared by copies until one is changed: so a mirror's copies fill the table that is read.
    private final class Box: Sendable {
        let name: String
        let kind: @Sendable () -> Kind<Value>
        let shown: String?
        let shapesAnswers: Bool
        let value: Mutex<Value>

        init(
            _ name: String, _ kind: @escaping @Sendable () -> Kind<Value>, _ shown: String?, _ shapesAnswers: Bool,
            _ value: Value
        ) {
            (self.name, self.kind, self.shown, self.shapesAnswers) = (name, kind, shown, shapesAnswers)
            self.value = Mutex(value)
        }
    }

    private var box: Box

    /// - Parameters:
    ///   - shown: the default in words where the property's own default is only a placeholder.
    ///   - shapesAnswers: whether an answer may be another one, or not be given, under another value: cached answers are then
    ///     not those of the same source. Not so for what a question's answer does not depend on (credentials, limits,
    ///     time-outs), nor for what is decided for each query. Of a table: whether one of its keys does.
    init(
        wrappedValue: Value, _ name: String, _ kind: @autoclosure @escaping @Sendable () -> Kind<Value>,
        default shown: String? = nil, shapesAnswers: Bool = false
    ) {
        box = Box(name, kind, shown, shapesAnswers, wrappedValue)
    }

    /// One whose value is optional, and nil by default.
    init(
        _ name: String, _ kind: @autoclosure @escaping @Sendable () -> Kind<Value>, default shown: String? = nil,
        shapesAnswers: Bool = false
    ) where Value: ExpressibleByNilLiteral {
        box = Box(name, kind, shown, shapesAnswers, nil)
    }

    public var wrappedValue: Value {
        get { box.value.withLock { $0 } }
        set {
            if isKnownUniquelyReferenced(&box) {
                box.value.withLock { $0 = newValue }
            } else {
                box = Box(box.name, box.kind, box.shown, box.shapesAnswers, newValue)
            }
        }
    }
}

/// Not asked of every value: each type of one would be looked up among all conformances of the program at its start.
extension Setting: Equatable where Value: Equatable {
    public static func == (left: Self, right: Self) -> Bool { left.wrappedValue == right.wrappedValue }
}

/// A setting with any kind of value.
protocol SettingKey {
    var name: String { get }
    /// Reads a node into the property, which stays as it is when the value is refused.
    func read(_ node: TOMLNode, _ path: SettingPath, _ reading: Reading)
    /// The value as it would stand in the file.
    var text: String { get }
    /// Name and value as text, another one for every other value; nil when the key shapes no answer.
    var identity: String? { get }
    /// The keys of the options page: this one, or for a table those inside.
    var keys: [SchemaKey] { get }
}

extension Setting: SettingKey {
    var name: String { box.name }

    func read(_ node: TOMLNode, _ path: SettingPath, _ reading: Reading) {
        guard let value = box.kind().read(node, path, reading) else { return }
        box.value.withLock { $0 = value }
    }

    var text: String { box.kind().write(wrappedValue) }

    var identity: String? { box.shapesAnswers ? "\(name) = \(text)" : nil }

    var keys: [SchemaKey] {
        let kind = box.kind()
        let children = kind.children().map { child in
            var key = child
            key.path = name + (kind.isArrayOfTables ? "[]." : ".") + child.path
            return key
        }
        guard children.isEmpty else { return children }
        return [
            SchemaKey(
                path: name, type: kind.type, range: kind.range, defaultText: box.shown ?? kind.write(wrappedValue),
                shapesAnswers: box.shapesAnswers)
        ]
    }
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

    /// Warns of a file of authorities that cannot be used.
    ///
    /// - Parameter file: that of `ca_file`; empty: the system's, of which nothing is said here.
    func warnOfAuthorities(_ file: String) {
        guard !file.isEmpty, let problem = authoritiesProblem(file) else { return }
        warn("ca_file", "\(quoted(file)) \(problem); certificates are checked with it")
    }
}

extension Kind where Value: SettingsTable {
    static var table: Kind {
        Kind(
            type: "table", read: { Value.read($0, $1, $2) }, write: { $0.identity },
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
                guard let nodes = node.list else {
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
            }, write: { "[" + $0.map { $0.identity }.joined(separator: ", ") + "]" },
            children: { Table.schemaKeys }, isArrayOfTables: true)
    }
}
