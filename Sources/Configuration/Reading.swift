/// The state of reading one file: what was found wrong, and what the values need from outside.
final class Reading {
    let file: String
    let lines: KeyLines
    let environment: [String: String]

    private(set) var errors: [Diagnostic] = []
    private(set) var warnings: [Diagnostic] = []
    /// Keys that the file holds.
    private(set) var written: Set<SettingPath> = []
    /// Keys that an unknown key was probably meant to be.
    private var misspelt: Set<SettingPath> = []
    /// Keys whose value was refused.
    private var refused: Set<SettingPath> = []
    /// What the file sets that is not built yet.
    var notBuilt: [NotBuilt.Use] = []

    init(file: String, lines: KeyLines, environment: [String: String]) {
        self.file = file
        self.lines = lines
        self.environment = environment
    }

    func fail(_ path: SettingPath, _ message: String) {
        refused.insert(path)
        errors.append(diagnostic(path, message))
    }

    func warn(_ path: SettingPath, _ message: String) { warnings.append(diagnostic(path, message)) }

    /// Whether nothing was refused at `path` or inside it.
    func isSound(_ path: SettingPath) -> Bool { !refused.contains { $0.isWithin(path) } }

    /// Whether an unknown key was probably meant to be this one: then it is not reported as missing too.
    func isMisspelt(_ path: SettingPath) -> Bool { misspelt.contains(path) }

    private func diagnostic(_ path: SettingPath, _ message: String) -> Diagnostic {
        Diagnostic(
            file: file, line: lines.line(of: path), key: path == .root ? nil : path.description, message: message)
    }

    /// Reads the pairs of a table into its defaults, and reports the keys that it does not know.
    func table<Table: SettingsTable>(_ node: TOMLNode, _ path: SettingPath, as: Table.Type) -> Table? {
        guard case .table(let pairs) = node else {
            fail(path, "must be a table, not \(node.kindName); write its keys below [\(path)]")
            return nil
        }
        var table = Table()
        for pair in pairs {
            let place = path.appending(key: pair.key)
            guard let setting = Table.settings.first(where: { $0.key.path == pair.key }) else {
                failUnknown(place, pair.key, known: Table.settings.map(\.key.path))
                continue
            }
            written.insert(place)
            if let isDefault = setting.read(pair.value, place, self, &table) {
                NotBuilt.note(place, pair.value, isDefault: isDefault, in: self)
            }
        }
        table.finish(at: path, self)
        return table
    }

    private func failUnknown(_ path: SettingPath, _ key: String, known: [String]) {
        if let near = nearest(to: key, among: known) {
            if let table = path.parent { misspelt.insert(table.appending(key: near)) }
            fail(path, "unknown key; did you mean \(quoted(near))?")
        } else {
            fail(path, "unknown key; known here: \(known.joined(separator: ", "))")
        }
    }

    /// The text of a string node with its variables put in; reports anything else.
    func text(_ node: TOMLNode, _ path: SettingPath, expected: String) -> WrittenText? {
        guard case .string(let written) = node else {
            fail(path, "must be \(expected), not \(node.kindName)")
            return nil
        }
        do throws(ValueProblem) {
            return try WrittenText(written, environment: environment)
        } catch {
            fail(path, error.text)
            return nil
        }
    }
}
