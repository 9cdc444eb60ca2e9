import HTTPDNS

/// Reads a text of TOML 1.0 into nodes: all of it, checked with the cases of toml-test. Its input is hostile: time and
/// memory grow with its size, which the caller bounds; the stack is bounded by `maximumDepth`.
struct TOMLReader {
    /// How deep tables, arrays and dotted keys may nest, far above the schema's depth.
    static let maximumDepth = 32

    private var cursor: TOMLCursor
    private let root = TOMLTable(.header)
    /// Counts the headers and the tables in braces.
    private var section = 0

    /// One part of a dotted key.
    private typealias Key = (text: String, place: TOMLCursor)

    /// Reads a whole text. Returns the table of its root.
    static func read(_ text: [UInt8]) throws(SyntaxProblem) -> TOMLNode {
        var reader = TOMLReader(cursor: try TOMLCursor(text))
        try reader.document()
        return TOMLNode(value: .table(reader.root), line: 1)
    }

    private init(cursor: TOMLCursor) { self.cursor = cursor }

    private mutating func document() throws(SyntaxProblem) {
        var (table, depth, own) = (root, 0, section)
        try cursor.skipLines()
        while cursor.next != nil {
            if cursor.next == UInt8(ascii: "[") {
                (table, depth) = try header()
                own = section
            } else {
                try pair(in: table, own, depth: depth)
            }
            try cursor.skipComment()
            guard cursor.next == nil || cursor.next == UInt8(ascii: "\n") else {
                throw cursor.problem("nothing but a comment may follow on this line")
            }
            try cursor.skipLines()
        }
    }

    /// `[a.b]` or `[[a.b]]`. Returns the table that the next pairs belong to, and its depth.
    private mutating func header() throws(SyntaxProblem) -> (TOMLTable, depth: Int) {
        let line = cursor.line
        cursor.advance()
        let isEntry = cursor.take(UInt8(ascii: "["))
        let keys = try dottedKey(depth: 0)
        guard cursor.take(UInt8(ascii: "]")), !isEntry || cursor.take(UInt8(ascii: "]")) else {
            throw cursor.problem("the table's name must end with \(isEntry ? "]]" : "]")")
        }
        section += 1
        var table = root
        for (index, key) in keys.enumerated() {
            let isLast = index == keys.count - 1
            let next =
                isLast && isEntry
                ? table.entry(key.text, line: line) : table.table(key.text, isLast ? .header : .implied, line: line)
            table = try check(next, key, table)
        }
        return (table, keys.count)
    }

    /// - Parameter section: of the header or the braces around it.
    private mutating func pair(in table: TOMLTable, _ section: Int, depth: Int) throws(SyntaxProblem) {
        let line = cursor.line
        let keys = try dottedKey(depth: depth)
        guard cursor.take(UInt8(ascii: "=")) else { throw cursor.problem("a key must be followed by = and its value") }
        cursor.skipSpaces()
        let node = TOMLNode(value: try value(depth: depth + keys.count), line: line)
        var table = table
        for (index, key) in keys.enumerated() {
            if index == keys.count - 1 {
                try check(table.add(key.text, node), key, table)
            } else {
                table = try check(table.table(key.text, .dotted(section: section), line: line), key, table)
            }
        }
    }

    /// - Parameter result: of adding a key to a table.
    @discardableResult private func check<Value>(
        _ result: Value?, _ key: Key, _ table: TOMLTable
    ) throws(SyntaxProblem) -> Value {
        if let result { return result }
        let line = table[key.text]?.line ?? 0
        throw key.place.problem("\(quoted(key.text)) is already on line \(line); write it once, and all of it there")
    }

    /// Keys joined by dots, with the blanks around them.
    private mutating func dottedKey(depth: Int) throws(SyntaxProblem) -> [Key] {
        var keys: [Key] = []
        repeat {
            cursor.skipSpaces()
            let place = cursor
            keys.append((try key(), place))
            guard depth + keys.count <= Self.maximumDepth else { throw tooDeep }
            cursor.skipSpaces()
        } while cursor.take(UInt8(ascii: "."))
        return keys
    }

    private mutating func key() throws(SyntaxProblem) -> String {
        if cursor.next == UInt8(ascii: "\"") || cursor.next == UInt8(ascii: "'") {
            return try cursor.string(mayBeLong: false)
        }
        let key = cursor.takeAll(where: \.isWordByte)
        guard !key.isEmpty else {
            throw cursor.problem("a key must consist of letters, digits, - and _, or stand in quotes")
        }
        return String(decoding: key, as: UTF8.self)
    }

    private mutating func value(depth: Int) throws(SyntaxProblem) -> TOMLNode.Value {
        guard depth <= Self.maximumDepth else { throw tooDeep }
        switch cursor.next {
        case UInt8(ascii: "\""), UInt8(ascii: "'"): return .string(try cursor.string(mayBeLong: true))
        case UInt8(ascii: "["):
            var nodes: [TOMLNode] = []
            try list(closing: UInt8(ascii: "]"), mayBreak: true) { reader throws(SyntaxProblem) in
                let line = reader.cursor.line
                nodes.append(TOMLNode(value: try reader.value(depth: depth + 1), line: line))
            }
            return .array(nodes)
        case UInt8(ascii: "{"):
            section += 1
            let (table, inner) = (TOMLTable(.inline), section)
            try list(closing: UInt8(ascii: "}"), mayBreak: false) { reader throws(SyntaxProblem) in
                try reader.pair(in: table, inner, depth: depth + 1)
            }
            return .table(table)
        default: return try scalar()
        }
    }

    /// A number, date, time, `true` or `false`.
    private mutating func scalar() throws(SyntaxProblem) -> TOMLNode.Value {
        let start = cursor
        let all = cursor.takeAll { !",]}#\n".utf8.contains($0) }
        let blanks = all.reversed().prefix { $0 == UInt8(ascii: " ") || $0 == UInt8(ascii: "\t") }
        guard blanks.count < all.count else { throw start.problem("the value is missing") }
        do throws(ValueProblem) {
            return try .scalar(all.dropLast(blanks.count))
        } catch {
            throw start.problem("this \(error.text)")
        }
    }

    /// Reads what stands in brackets or braces, with commas between.
    ///
    /// - Parameter mayBreak: whether it may go over lines, and end with a comma.
    private mutating func list(
        closing close: UInt8, mayBreak: Bool, _ item: (inout TOMLReader) throws(SyntaxProblem) -> Void
    ) throws(SyntaxProblem) {
        let start = cursor.line
        let bracket = Character(UnicodeScalar(close))
        cursor.advance()
        try skipBlanks(mayBreak)
        var isComplete = cursor.take(close)
        while !isComplete {
            guard cursor.next != nil else {
                throw cursor.problem("the brackets that open on line \(start) have no \(bracket)")
            }
            try item(&self)
            try skipBlanks(mayBreak)
            let hasComma = cursor.take(UInt8(ascii: ","))
            if hasComma { try skipBlanks(mayBreak) }
            isComplete = (mayBreak || !hasComma) && cursor.take(close)
            guard isComplete || hasComma || cursor.next == nil else {
                throw cursor.problem("a comma or \(bracket) must come next in the brackets that open on line \(start)")
            }
        }
    }

    private mutating func skipBlanks(_ mayBreak: Bool) throws(SyntaxProblem) {
        if mayBreak { return try cursor.skipLines() }
        cursor.skipSpaces()
        guard cursor.next != UInt8(ascii: "\n") else {
            throw cursor.problem("a table in braces must end on its line; write [table] and its keys below instead")
        }
    }

    private var tooDeep: SyntaxProblem { cursor.problem("tables or arrays are nested too deep") }
}
