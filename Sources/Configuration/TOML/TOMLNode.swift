import TOMLKit

/// A value of a TOML text, copied out of TOMLKit. The only file that knows TOMLKit.
indirect enum TOMLNode: Equatable {
    case string(String)
    /// One of the values that a variable, standing alone in a list, has.
    case value(String, of: String)
    case integer(Int)
    case float(Double)
    case boolean(Bool)
    /// A date, a time or both: the schema has none.
    case date
    case array([TOMLNode])
    case table([Pair])

    struct Pair: Equatable {
        var key: String
        var value: TOMLNode
    }

    /// What to call it in "must be ..., not ...".
    var kindName: String {
        switch self {
        case .string, .value: "a string"
        case .integer: "an integer"
        case .float: "a number with decimals"
        case .boolean: "true or false"
        case .date: "a date or time"
        case .array: "a list"
        case .table: "a table"
        }
    }

    /// The value of a key of a table; nil when there is none.
    subscript(key: String) -> TOMLNode? {
        guard case .table(let pairs) = self else { return nil }
        return pairs.first { $0.key == key }?.value
    }

    /// Reads a whole text as a table.
    ///
    /// - Parameter lines: of the same text; what the scanner refused is not given to TOMLKit.
    static func document(_ bytes: [UInt8], lines: KeyLines) throws(SyntaxProblem) -> TOMLNode {
        if let line = firstBadLine(bytes) {
            throw SyntaxProblem(line: line, message: "the text is not UTF-8, or holds a NUL character")
        }
        if let problem = lines.problem { throw problem }
        do {
            let table = try TOMLTable(string: String(decoding: bytes, as: UTF8.self))
            // TOMLKit never does this.
            defer { table.clear() }
            return TOMLNode(table, .root, lines)
        } catch let error as TOMLParseError {
            throw SyntaxProblem(
                line: error.source.begin.line, column: error.source.begin.column, message: redacted(error.description))
        } catch {
            throw SyntaxProblem(line: nil, message: "this is not TOML")
        }
    }

    private static func firstBadLine(_ bytes: [UInt8]) -> Int? {
        if !bytes.contains(0), String(validating: bytes, as: UTF8.self) != nil { return nil }
        let lines = bytes.split(separator: UInt8(ascii: "\n"), omittingEmptySubsequences: false)
        let bad = lines.firstIndex { $0.contains(0) || String(validating: $0, as: UTF8.self) == nil }
        return (bad ?? 0) + 1
    }

    /// toml++ quotes numbers that it cannot take, and a number may be a secret written without quotes.
    private static func redacted(_ message: String) -> String {
        var parts = message.split(separator: "'", omittingEmptySubsequences: false).map { String($0) }
        for index in parts.indices where index % 2 == 1 && parts[index].utf8.count > 4 {
            if let first = parts[index].first, "0123456789+-._".contains(first) { parts[index] = "..." }
        }
        return parts.joined(separator: "'").unicodeScalars.reduce(into: "") { text, scalar in
            text += scalar.properties.generalCategory == .control ? " " : String(scalar)
        }
    }

    private init(_ table: TOMLTable, _ path: SettingPath, _ lines: KeyLines) {
        // Keys are looked up one by one: TOMLKit's own iterator traps on a key that it cannot find again.
        self = .table(
            table.keys.compactMap { key in
                table[key].map { Pair(key: key, value: TOMLNode($0, path.appending(key: key), lines)) }
            })
    }

    private init(_ value: any TOMLValueConvertible, _ path: SettingPath, _ lines: KeyLines) {
        switch value.type {
        // TOMLKit's own copy is never freed.
        case .string: self = (lines.string(at: path) ?? value.string).map { .string($0) } ?? .date
        case .int: self = value.int.map { .integer($0) } ?? .date
        case .double: self = value.double.map { .float($0) } ?? .date
        case .bool: self = value.bool.map { .boolean($0) } ?? .date
        case .date, .time, .dateTime: self = .date
        case .array:
            var nodes: [TOMLNode] = []
            for entry in value.array ?? [] {
                nodes.append(TOMLNode(entry, path.appending(entry: nodes.count + 1), lines))
            }
            self = .array(nodes)
        case .table: self = value.table.map { TOMLNode($0, path, lines) } ?? .table([])
        }
    }
}
