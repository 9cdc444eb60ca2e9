/// What TOMLKit's nodes do not give: the line on which each key and array entry of a TOML text stands, for error messages,
/// and the strings without a leak, for TOMLKit never frees those that it hands out.
struct KeyLines {
    private let lines: [SettingPath: Int]
    private let strings: [SettingPath: String]
    /// The entries of arrays in brackets, by the array's path.
    private let lists: [SettingPath: [KeyScanner.Entry]]
    /// Why the text is not TOML, as far as the scanner can tell; nil when it was read to its end.
    private(set) var problem: SyntaxProblem?

    init(_ text: [UInt8]) {
        var scanner = KeyScanner(text)
        do throws(SyntaxProblem) {
            try scanner.scan()
        } catch {
            problem = error
        }
        lines = scanner.lines
        strings = scanner.strings
        lists = scanner.lists
    }

    /// The line of `path`, or of the nearest table around it that has one; counted from 1.
    func line(of path: SettingPath) -> Int? {
        var path: SettingPath? = path
        while let current = path {
            if let line = ownLine(of: current) { return line }
            path = current.parent
        }
        return nil
    }

    /// The line of `path` itself.
    func ownLine(of path: SettingPath) -> Int? { lines[path] ?? entry(path)?.line }

    /// What stands at `path` if it is a string.
    func string(at path: SettingPath) -> String? { strings[path] ?? entry(path)?.string }

    /// The entry of an array in brackets.
    private func entry(_ path: SettingPath) -> KeyScanner.Entry? {
        guard case .entry(let number)? = path.parts.last, let array = path.parent, let list = lists[array],
            list.indices.contains(number - 1)
        else { return nil }
        return list[number - 1]
    }
}
