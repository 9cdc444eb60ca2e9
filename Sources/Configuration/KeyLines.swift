/// The line on which each key and array entry of a TOML text stands, for error messages: TOMLKit's nodes carry none.
struct KeyLines {
    private(set) var lines: [SettingPath: Int] = [:]
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
    }

    /// The line of `path`, or of the nearest table around it that has one; counted from 1.
    func line(of path: SettingPath) -> Int? {
        var path: SettingPath? = path
        while let current = path {
            if let line = lines[current] { return line }
            path = current.parent
        }
        return nil
    }
}

/// Why a text is not TOML. Never holds a value of the text, which may be a secret.
struct SyntaxProblem: Error, Hashable {
    /// Counted from 1.
    var line: Int?
    /// Counted from 1.
    var column: Int?
    var message: String
}
