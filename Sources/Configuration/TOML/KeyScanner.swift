/// Walks through a TOML text and notes on which line each key and array entry begins, and what its strings stand for.
///
/// It accepts all of TOML 1.0, and some texts more: it does not look into numbers and dates, nor for keys written
/// twice. toml++ then sees only what passed here. This matters, because toml++ aborts on some malformed keys (its
/// assertions are on in debug builds and promises to the optimizer in release builds), and it builds and destroys
/// dotted keys of any depth by recursion.
struct KeyScanner {
    /// How deep tables, arrays and dotted keys may nest, far above the schema's depth.
    static let maximumDepth = 32

    private(set) var lines: [SettingPath: Int] = [:]
    /// What keys have that is a string.
    private(set) var strings: [SettingPath: String] = [:]
    /// The entries of arrays in brackets, by the array's path: not each by its own, for some have 100,000.
    private(set) var lists: [SettingPath: [Entry]] = [:]
    /// An entry of an array in brackets.
    struct Entry {
        let line: Int
        /// Nil when it is something else than a string.
        let string: String?
    }

    private var cursor: TOMLCursor
    /// How many entries each array of tables has so far.
    private var entries: [SettingPath: Int] = [:]

    init(_ text: [UInt8]) { cursor = TOMLCursor(text) }

    mutating func scan() throws(SyntaxProblem) {
        var table = SettingPath.root
        while cursor.skipBlank() {
            if cursor.next == UInt8(ascii: "[") {
                table = try header()
            } else {
                try pair(in: table, depth: 0)
            }
            cursor.skipSpaces()
            if cursor.next == UInt8(ascii: "#") { cursor.skipComment() }
            guard cursor.next == nil || cursor.next == UInt8(ascii: "\n") else {
                throw cursor.problem("nothing but a comment may follow on this line")
            }
        }
    }

    /// `[a.b]` or `[[a.b]]`: the table that the next pairs belong to.
    private mutating func header() throws(SyntaxProblem) -> SettingPath {
        let start = cursor.line
        _ = cursor.take(UInt8(ascii: "["))
        let isEntry = cursor.take(UInt8(ascii: "["))
        let keys = try dottedKey()
        guard cursor.take(UInt8(ascii: "]")), !isEntry || cursor.take(UInt8(ascii: "]")) else {
            throw cursor.problem("the table's name must end with \(isEntry ? "]]" : "]")")
        }
        var path = SettingPath.root
        for (index, key) in keys.enumerated() {
            path = path.appending(key: key)
            note(path, start)
            if isEntry, index == keys.count - 1 { entries[path, default: 0] += 1 }
            if let count = entries[path] { path = path.appending(entry: count) }
            note(path, start)
        }
        return path
    }

    private mutating func pair(in table: SettingPath, depth: Int) throws(SyntaxProblem) {
        let start = cursor.line
        var path = table
        for key in try dottedKey() {
            path = path.appending(key: key)
            note(path, start)
        }
        guard cursor.take(UInt8(ascii: "=")) else { throw cursor.problem("a key must be followed by = and its value") }
        cursor.skipSpaces()
        if let string = try value(of: path, depth: depth) { strings[path] = string }
    }

    /// Keys joined by dots, with the blanks around them.
    private mutating func dottedKey() throws(SyntaxProblem) -> [String] {
        var keys: [String] = []
        repeat {
            cursor.skipSpaces()
            keys.append(try key())
            guard keys.count <= Self.maximumDepth else { throw tooDeep }
            cursor.skipSpaces()
        } while cursor.take(UInt8(ascii: "."))
        return keys
    }

    private mutating func key() throws(SyntaxProblem) -> String {
        if let quote = cursor.next, quote == UInt8(ascii: "\"") || quote == UInt8(ascii: "'") {
            return String(decoding: try cursor.string(mayBeLong: false), as: UTF8.self)
        }
        let key = cursor.takeAll(where: isBareKeyByte)
        guard !key.isEmpty else {
            throw cursor.problem("a key must consist of letters, digits, - and _, or stand in quotes")
        }
        return String(decoding: key, as: UTF8.self)
    }

    /// - Returns: what it stands for if it is a string.
    private mutating func value(of path: SettingPath, depth: Int) throws(SyntaxProblem) -> String? {
        guard depth <= Self.maximumDepth, path.parts.count <= Self.maximumDepth else { throw tooDeep }
        switch cursor.next {
        case UInt8(ascii: "\""), UInt8(ascii: "'"):
            return String(decoding: try cursor.string(mayBeLong: true), as: UTF8.self)
        case UInt8(ascii: "["): try array(at: path, depth: depth + 1)
        case UInt8(ascii: "{"): try inlineTable(at: path, depth: depth + 1)
        default: try cursor.scalar()
        }
        return nil
    }

    private mutating func array(at path: SettingPath, depth: Int) throws(SyntaxProblem) {
        let start = cursor.line
        _ = cursor.take(UInt8(ascii: "["))
        var list: [Entry] = []
        while try !isAtEnd(UInt8(ascii: "]"), isFirst: list.isEmpty, from: start) {
            let line = cursor.line
            let string = try value(of: path.appending(entry: list.count + 1), depth: depth)
            list.append(Entry(line: line, string: string))
        }
        lists[path] = list
    }

    private mutating func inlineTable(at path: SettingPath, depth: Int) throws(SyntaxProblem) {
        let start = cursor.line
        _ = cursor.take(UInt8(ascii: "{"))
        var isFirst = true
        while try !isAtEnd(UInt8(ascii: "}"), isFirst: isFirst, from: start) {
            try pair(in: path, depth: depth)
            isFirst = false
        }
    }

    /// Gets past the comma after an entry and past the closing bracket.
    ///
    /// - Returns: whether the bracket came.
    private mutating func isAtEnd(_ close: UInt8, isFirst: Bool, from start: Int) throws(SyntaxProblem) -> Bool {
        let bracket = Character(UnicodeScalar(close))
        _ = cursor.skipBlank()
        let hadComma = !isFirst && cursor.take(UInt8(ascii: ","))
        _ = cursor.skipBlank()
        if cursor.take(close) { return true }
        guard cursor.next != nil else {
            throw cursor.problem("the brackets that open on line \(start) have no \(bracket)")
        }
        guard isFirst || hadComma else {
            throw cursor.problem("a comma or \(bracket) must come next in the brackets that open on line \(start)")
        }
        return false
    }

    private var tooDeep: SyntaxProblem { cursor.problem("tables or arrays are nested too deep") }

    private mutating func note(_ path: SettingPath, _ line: Int) {
        if lines[path] == nil { lines[path] = line }
    }
}
