/// A value of a TOML text, and where it stands.
struct TOMLNode {
    let value: Value
    /// Of its key, or of the value itself in a list; counted from 1.
    let line: Int

    enum Value {
        case string(String)
        /// One of the values that a variable, standing alone in a list, has.
        case variable(String, of: String)
        case integer(Int)
        case float(Double)
        case boolean(Bool)
        /// A date, a time or both, as it is written: no key of the schema takes one.
        case date(String)
        case array([TOMLNode])
        case table(TOMLTable)
    }

    /// What to call it in "must be ..., not ...".
    var kindName: String {
        switch value {
        case .string, .variable: "a string"
        case .integer: "an integer"
        case .float: "a number with decimals"
        case .boolean: "true or false"
        case .date: "a date or time"
        case .array: "a list"
        case .table: "a table"
        }
    }

    /// Nil for what is no table.
    var table: TOMLTable? { if case .table(let table) = value { table } else { nil } }

    /// Nil for what is no list.
    var list: [TOMLNode]? { if case .array(let nodes) = value { nodes } else { nil } }

    /// The node of a key, in a table that has it.
    subscript(key: String) -> TOMLNode? { table?[key] }

    /// The node at the path, or the nearest one around it; nil when that is the whole text.
    func nearest(to path: SettingPath) -> TOMLNode? {
        var found: TOMLNode?
        for part in path.parts {
            switch (part, (found ?? self).value) {
            case (.key(let key), .table(let table)):
                guard let next = table[key] else { return found }
                found = next
            case (.entry(let number), .array(let nodes)) where nodes.indices.contains(number - 1):
                found = nodes[number - 1]
            default: return found
            }
        }
        return found
    }
}

/// A table of a TOML text: its pairs in the order of the file. Only the reader and `EnvironmentKeys` change it.
final class TOMLTable {
    /// How a table came to be: it says what may be added to it later.
    enum Origin: Equatable {
        /// Named on the way to another by a header.
        case implied
        /// `[table]` or `[[table]]`.
        case header
        /// Named by dotted keys below the header, or in the braces, of this number: these alone may add to it.
        case dotted(section: Int)
        /// In braces: complete.
        case inline
    }

    private(set) var pairs: [(key: String, node: TOMLNode)] = []
    private var origin: Origin
    /// Where each key stands in `pairs`. By bytes: strings are equal in Swift, too, when only their letters are.
    private var places: [[UInt8]: Int] = [:]

    init(_ origin: Origin) { self.origin = origin }

    subscript(key: String) -> TOMLNode? { places[Array(key.utf8)].map { pairs[$0].node } }

    /// Adds a pair. Returns nil when the key is there already.
    func add(_ key: String, _ node: TOMLNode) -> Void? {
        guard self[key] == nil else { return nil }
        places[Array(key.utf8)] = pairs.count
        return pairs.append((key, node))
    }

    /// Sets a key, whatever it has.
    func put(_ key: String, _ node: TOMLNode) {
        if let place = places[Array(key.utf8)] { pairs[place].node = node } else { _ = add(key, node) }
    }

    /// The table of a key, made if there is none.
    ///
    /// - Parameters:
    ///   - origin: `implied` on the way of a header, `header` at its end, or `dotted`.
    ///   - line: of the key.
    /// - Returns: nil when the key has something to which this may not add.
    func table(_ key: String, _ origin: Origin, line: Int) -> TOMLTable? {
        switch self[key]?.value {
        case nil:
            let table = TOMLTable(origin)
            return add(key, TOMLNode(value: .table(table), line: line)).map { table }
        case .table(let table):
            switch (origin, table.origin) {
            case (.implied, .implied), (.implied, .header), (.implied, .dotted): return table
            case (.dotted(let section), .dotted(let other)) where section == other: return table
            case (.header, .implied), (.dotted, .implied):
                table.origin = origin
                return table
            default: return nil
            }
        case .array(let nodes):
            guard origin == .implied, case .table(let last) = nodes.last?.value, last.origin == .header else {
                return nil
            }
            return last
        default: return nil
        }
    }

    /// A new table at the end of the array of tables of a key. Returns nil when the key has something else.
    func entry(_ key: String, line: Int) -> TOMLTable? {
        let table = TOMLTable(.header)
        let node = TOMLNode(value: .table(table), line: line)
        guard let place = places[Array(key.utf8)] else {
            return add(key, TOMLNode(value: .array([node]), line: line)).map { table }
        }
        guard case .array(var nodes) = pairs[place].node.value, case .table(let last) = nodes.last?.value,
            last.origin == .header
        else { return nil }
        let first = pairs[place].node.line
        // Nothing else may hold the array when it grows, or it would be copied for each entry.
        pairs[place].node = node
        nodes.append(node)
        pairs[place].node = TOMLNode(value: .array(nodes), line: first)
        return table
    }
}
