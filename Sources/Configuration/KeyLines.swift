/// The line on which each key and array entry of a TOML text stands, for error messages: TOMLKit's nodes carry none.
///
/// A scanner, not a validator: it follows valid text exactly, may accept what TOML forbids, and gives up on the rest,
/// which `TOMLNode` then reports. Nesting is bounded here, because toml++ builds and destroys dotted keys of any depth
/// by recursion.
struct KeyLines {
    /// How deep tables, arrays and dotted keys may nest, far above the schema's depth.
    static let maximumDepth = 32

    /// Why scanning ended before the end of the text.
    enum Stop: Error, Equatable {
        /// Not TOML as the scanner knows it, from this byte on.
        case gaveUp(offset: Int)
        case tooDeep(line: Int)
        /// A string holds a NUL character, at which C strings end.
        case nul(line: Int)
    }

    private var lines: [SettingPath: Int] = [:]
    /// Nil when the whole text was understood.
    private(set) var stop: Stop?

    private var text: [UInt8]
    private var at = 0
    private var line = 1
    /// How many entries each array of tables has so far.
    private var entries: [SettingPath: Int] = [:]

    init(_ text: [UInt8]) {
        self.text = text
        if text.starts(with: [0xef, 0xbb, 0xbf]) { at = 3 }
        do throws(Stop) {
            try document()
        } catch {
            stop = error
        }
        self.text = []
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

    /// The line of `path` itself.
    func ownLine(of path: SettingPath) -> Int? { lines[path] }

    // MARK: - Grammar

    private mutating func document() throws(Stop) {
        var table = SettingPath.root
        while skipBlank() {
            if peek == UInt8(ascii: "[") {
                table = try header()
            } else {
                try pair(in: table, depth: 0)
            }
            skipSpaces()
            if peek == UInt8(ascii: "#") { skipComment() }
            guard peek == nil || peek == UInt8(ascii: "\n") else { throw gaveUp }
        }
    }

    /// `[a.b]` or `[[a.b]]`: the table that the next pairs belong to.
    private mutating func header() throws(Stop) -> SettingPath {
        let start = line
        at += 1
        let isEntry = take(UInt8(ascii: "["))
        let keys = try dottedKey()
        guard take(UInt8(ascii: "]")), !isEntry || take(UInt8(ascii: "]")) else { throw gaveUp }
        var path = SettingPath.root
        for (index, key) in keys.enumerated() {
            path = path.appending(key: key)
            note(path, start)
            if isEntry, index == keys.count - 1 {
                entries[path, default: 0] += 1
            }
            if let count = entries[path] { path = path.appending(entry: count) }
            note(path, start)
        }
        return path
    }

    private mutating func pair(in table: SettingPath, depth: Int) throws(Stop) {
        let start = line
        var path = table
        for key in try dottedKey() {
            path = path.appending(key: key)
            note(path, start)
        }
        guard path.parts.count <= Self.maximumDepth else { throw .tooDeep(line: start) }
        guard take(UInt8(ascii: "=")) else { throw gaveUp }
        skipSpaces()
        try value(of: path, depth: depth)
    }

    /// Keys joined by dots, with the blanks around them.
    private mutating func dottedKey() throws(Stop) -> [String] {
        var keys: [String] = []
        repeat {
            skipSpaces()
            keys.append(try key())
            guard keys.count <= Self.maximumDepth else { throw .tooDeep(line: line) }
            skipSpaces()
        } while take(UInt8(ascii: "."))
        return keys
    }

    private mutating func key() throws(Stop) -> String {
        if let quote = peek, quote == UInt8(ascii: "\"") || quote == UInt8(ascii: "'") {
            return String(decoding: try string(multiline: false), as: UTF8.self)
        }
        let start = at
        while let byte = peek, isBareKeyByte(byte) { at += 1 }
        guard at > start else { throw gaveUp }
        return String(decoding: text[start..<at], as: UTF8.self)
    }

    private mutating func value(of path: SettingPath, depth: Int) throws(Stop) {
        guard depth <= Self.maximumDepth, path.parts.count <= Self.maximumDepth else { throw .tooDeep(line: line) }
        switch peek {
        case UInt8(ascii: "\""), UInt8(ascii: "'"): _ = try string(multiline: true)
        case UInt8(ascii: "["): try array(at: path, depth: depth + 1)
        case UInt8(ascii: "{"): try inlineTable(at: path, depth: depth + 1)
        default:
            let start = at
            while let byte = peek, !",]}#\n".utf8.contains(byte) { at += 1 }
            guard at > start else { throw gaveUp }
        }
    }

    private mutating func array(at path: SettingPath, depth: Int) throws(Stop) {
        at += 1
        var count = 0
        while skipBlank(), !take(UInt8(ascii: "]")) {
            count += 1
            let entry = path.appending(entry: count)
            note(entry, line)
            try value(of: entry, depth: depth)
            try separator(before: UInt8(ascii: "]"))
        }
    }

    private mutating func inlineTable(at path: SettingPath, depth: Int) throws(Stop) {
        at += 1
        while skipBlank(), !take(UInt8(ascii: "}")) {
            try pair(in: path, depth: depth)
            try separator(before: UInt8(ascii: "}"))
        }
    }

    /// A comma, or nothing before the closing bracket.
    private mutating func separator(before close: UInt8) throws(Stop) {
        guard skipBlank(), take(UInt8(ascii: ",")) || peek == close else { throw gaveUp }
    }

    // MARK: - Strings

    /// Any of the four kinds of string; the bytes it stands for.
    private mutating func string(multiline: Bool) throws(Stop) -> [UInt8] {
        let quote = text[at]
        let isLong = multiline && text[at...].starts(with: [quote, quote, quote])
        at += isLong ? 3 : 1
        var content: [UInt8] = []
        while let byte = peek {
            if byte == quote {
                if !isLong {
                    at += 1
                    return content
                }
                var run = 0
                while take(quote) { run += 1 }
                // Up to two quotes may stand right before the closing three.
                guard run <= 5 else { throw gaveUp }
                if run >= 3 { return content + Array(repeating: quote, count: run - 3) }
                content += Array(repeating: quote, count: run)
            } else if byte == UInt8(ascii: "\n") {
                guard isLong else { throw gaveUp }
                advanceLine()
                content.append(byte)
            } else if byte == UInt8(ascii: "\\"), quote == UInt8(ascii: "\"") {
                at += 1
                content += try escape(isLong)
            } else {
                at += 1
                content.append(byte)
            }
        }
        throw gaveUp
    }

    /// What follows a backslash.
    private mutating func escape(_ isLong: Bool) throws(Stop) -> [UInt8] {
        guard let byte = peek else { throw gaveUp }
        at += 1
        switch byte {
        case UInt8(ascii: "b"): return [8]
        case UInt8(ascii: "t"): return [9]
        case UInt8(ascii: "n"): return [10]
        case UInt8(ascii: "f"): return [12]
        case UInt8(ascii: "r"): return [13]
        case UInt8(ascii: "e"): return [27]
        case UInt8(ascii: "\""), UInt8(ascii: "\\"): return [byte]
        case UInt8(ascii: "x"): return try scalar(digits: 2)
        case UInt8(ascii: "u"): return try scalar(digits: 4)
        case UInt8(ascii: "U"): return try scalar(digits: 8)
        case UInt8(ascii: "\n"), UInt8(ascii: "\r"), UInt8(ascii: " "), UInt8(ascii: "\t"):
            // A backslash at the end of a line swallows all blanks up to the next character.
            guard isLong else { throw gaveUp }
            at -= 1
            while let blank = peek, " \t\r\n".utf8.contains(blank) {
                if blank == UInt8(ascii: "\n") { advanceLine() } else { at += 1 }
            }
            return []
        default: throw gaveUp
        }
    }

    private mutating func scalar(digits: Int) throws(Stop) -> [UInt8] {
        guard at + digits <= text.count,
            let value = UInt32(String(decoding: text[at..<(at + digits)], as: UTF8.self), radix: 16),
            let scalar = Unicode.Scalar(value)
        else { throw gaveUp }
        guard value != 0 else { throw .nul(line: line) }
        at += digits
        return Array(String(scalar).utf8)
    }

    // MARK: - Bytes

    private var peek: UInt8? { at < text.count ? text[at] : nil }

    private var gaveUp: Stop { .gaveUp(offset: at) }

    private mutating func note(_ path: SettingPath, _ line: Int) {
        if lines[path] == nil { lines[path] = line }
    }

    private mutating func take(_ byte: UInt8) -> Bool {
        guard peek == byte else { return false }
        at += 1
        return true
    }

    private mutating func advanceLine() {
        at += 1
        line += 1
    }

    private mutating func skipSpaces() {
        while let byte = peek, " \t\r".utf8.contains(byte) { at += 1 }
    }

    private mutating func skipComment() {
        while let byte = peek, byte != UInt8(ascii: "\n") { at += 1 }
    }

    /// Skips blanks, comments and line ends.
    ///
    /// - Returns: whether there is something left.
    private mutating func skipBlank() -> Bool {
        while true {
            skipSpaces()
            switch peek {
            case UInt8(ascii: "\n"): advanceLine()
            case UInt8(ascii: "#"): skipComment()
            case nil: return false
            default: return true
            }
        }
    }
}
