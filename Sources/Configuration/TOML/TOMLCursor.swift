/// A place in a TOML text, and how to get past blanks, strings and scalars.
struct TOMLCursor {
    private let text: [UInt8]
    private var at = 0
    private var lineStart = 0
    /// Counted from 1.
    private(set) var line = 1

    /// Begins after the byte order mark, if there is one. A carriage return before a line feed is left out, which
    /// moves neither lines nor columns; any other is not a blank in TOML.
    init(_ text: [UInt8]) {
        self.text = text.indices.filter {
            text[$0] != 0x0d || $0 + 1 == text.count || text[$0 + 1] != UInt8(ascii: "\n")
        }.map { text[$0] }
        if text.starts(with: [0xef, 0xbb, 0xbf]) {
            at = 3
            lineStart = 3
        }
    }

    /// Nil at the end.
    var next: UInt8? { at < text.count ? text[at] : nil }

    func problem(_ message: String) -> SyntaxProblem {
        SyntaxProblem(
            line: line, column: 1 + String(decoding: text[lineStart..<at], as: UTF8.self).unicodeScalars.count,
            message: next == nil ? "the text ends too early: \(message)" : message)
    }

    mutating func take(_ byte: UInt8) -> Bool {
        guard next == byte else { return false }
        advance()
        return true
    }

    mutating func takeAll(where isWanted: (UInt8) -> Bool) -> ArraySlice<UInt8> {
        let start = at
        while let byte = next, isWanted(byte) { advance() }
        return text[start..<at]
    }

    private mutating func advance() {
        if text[at] == UInt8(ascii: "\n") {
            line += 1
            lineStart = at + 1
        }
        at += 1
    }

    mutating func skipSpaces() { _ = takeAll { $0 == UInt8(ascii: " ") || $0 == UInt8(ascii: "\t") } }

    mutating func skipComment() { _ = takeAll { $0 != UInt8(ascii: "\n") } }

    /// Skips blanks, comments and line ends.
    ///
    /// - Returns: whether there is something left.
    mutating func skipBlank() -> Bool {
        while true {
            skipSpaces()
            switch next {
            case UInt8(ascii: "\n"): advance()
            case UInt8(ascii: "#"): skipComment()
            case nil: return false
            default: return true
            }
        }
    }

    /// Gets past a number, date, time, `true` or `false`.
    mutating func scalar() throws(SyntaxProblem) {
        let start = self
        let all = takeAll { !",]}#\n".utf8.contains($0) }
        let blanks = all.reversed().prefix { $0 == UInt8(ascii: " ") || $0 == UInt8(ascii: "\t") }
        let word = all.dropLast(blanks.count)
        guard !word.isEmpty else { throw start.problem("the value is missing") }
        guard TOMLScalar.isValid(word) else {
            throw start.problem("this is not a number, true or false; text must stand in quotes")
        }
    }

    // MARK: - Strings

    /// Gets past any of the four kinds of string, whose first quote is next; returns what it stands for.
    mutating func string(mayBeLong: Bool) throws(SyntaxProblem) -> [UInt8] {
        let start = self
        guard let quote = next else { return [] }
        let isLong = mayBeLong && text[at...].starts(with: [quote, quote, quote])
        at += isLong ? 3 : 1
        // The end of the line on which a long string opens is no part of it.
        if isLong { _ = take(UInt8(ascii: "\n")) }
        var content: [UInt8] = []
        while let byte = next {
            switch byte {
            case quote where !isLong:
                advance()
                return content
            case quote:
                let run = takeAll { $0 == quote }
                // Up to two quotes may stand right before the closing three.
                guard run.count <= 5 else { throw start.problem("the string ends with too many quotes") }
                content += run.count < 3 ? run : run.dropLast(3)
                if run.count >= 3 { return content }
            case UInt8(ascii: "\n") where !isLong:
                throw start.problem("the string has no closing quote on its line")
            case UInt8(ascii: "\\") where quote == UInt8(ascii: "\""):
                advance()
                content += try escape(isLong)
            default:
                content.append(byte)
                advance()
            }
        }
        throw start.problem("the string has no closing quotes")
    }

    /// What follows a backslash.
    private mutating func escape(_ isLong: Bool) throws(SyntaxProblem) -> [UInt8] {
        let simple: [UInt8: UInt8] = [
            UInt8(ascii: "b"): 8, UInt8(ascii: "t"): 9, UInt8(ascii: "n"): 10, UInt8(ascii: "f"): 12,
            UInt8(ascii: "r"): 13, UInt8(ascii: "\""): UInt8(ascii: "\""), UInt8(ascii: "\\"): UInt8(ascii: "\\"),
        ]
        let byte = next ?? 0
        if let value = simple[byte] {
            advance()
            return [value]
        }
        if byte == UInt8(ascii: "u") { return try unicodeEscape(digits: 4) }
        if byte == UInt8(ascii: "U") { return try unicodeEscape(digits: 8) }
        guard isLong, " \t\n".utf8.contains(byte) else {
            throw problem("a backslash must be written \\\\, or the string must stand in single quotes")
        }
        // A backslash at the end of a line swallows all blanks up to the next character.
        _ = takeAll { " \t\n".utf8.contains($0) }
        return []
    }

    private mutating func unicodeEscape(digits: Int) throws(SyntaxProblem) -> [UInt8] {
        let hex = text[(at + 1)...].prefix(digits)
        guard hex.count == digits, let value = UInt32(String(decoding: hex, as: UTF8.self), radix: 16),
            let scalar = Unicode.Scalar(value)
        else { throw problem("\\u must be followed by 4 and \\U by 8 hexadecimal digits of a character") }
        guard value != 0 else { throw problem("strings cannot hold the NUL character") }
        at += 1 + digits
        return Array(String(scalar).utf8)
    }
}
