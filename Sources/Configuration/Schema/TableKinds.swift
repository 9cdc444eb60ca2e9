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
        table.finish(at: path, reading)
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
