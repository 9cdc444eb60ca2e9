/// A place in a TOML text, which only moves forward. The text is hostile.
struct TOMLCursor {
    private let text: [UInt8]
    private var at = 0
    private var lineStart = 0
    /// Counted from 1.
    private(set) var line = 1

    /// Begins after the byte order mark, if there is one. A carriage return before a line feed is left out, which
    /// moves neither lines nor columns; any other is no end of a line in TOML.
    init(_ bytes: [UInt8]) throws(SyntaxProblem) {
        text = bytes.indices.filter {
            bytes[$0] != 0x0d || $0 + 1 == bytes.count || bytes[$0 + 1] != UInt8(ascii: "\n")
        }.map { bytes[$0] }
        if String(validating: text, as: UTF8.self) == nil {
            var (rest, parser) = (text.makeIterator(), Unicode.UTF8.ForwardParser())
            var end = 0
            while case .valid(let scalar) = parser.parseScalar(from: &rest) { end += scalar.count }
            while at < end { advance() }
            throw problem("the text is not UTF-8 from here on; save it as UTF-8")
        }
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

    /// The next bytes, fewer at the end.
    func peek(_ count: Int) -> ArraySlice<UInt8> { text[at...].prefix(count) }

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

    /// Gets past a byte; there must be one.
    mutating func advance() {
        if text[at] == UInt8(ascii: "\n") {
            line += 1
            lineStart = at + 1
        }
        at += 1
    }

    mutating func skipSpaces() { _ = takeAll { $0 == UInt8(ascii: " ") || $0 == UInt8(ascii: "\t") } }

    /// Skips spaces, and a comment after them up to the end of its line.
    mutating func skipComment() throws(SyntaxProblem) {
        skipSpaces()
        guard next == UInt8(ascii: "#") else { return }
        _ = takeAll { !isControl($0) }
        guard next == nil || next == UInt8(ascii: "\n") else {
            throw problem("a comment cannot hold control characters; leave this one out")
        }
    }

    /// Skips spaces, comments and line ends.
    mutating func skipLines() throws(SyntaxProblem) {
        repeat { try skipComment() } while take(UInt8(ascii: "\n"))
    }
}

/// Whether TOML allows the byte nowhere but, if it is one, as the end of a line.
func isControl(_ byte: UInt8) -> Bool { byte < 0x20 && byte != UInt8(ascii: "\t") || byte == 0x7f }

extension TOMLCursor {
    /// Gets past any of the four kinds of string, whose first quote is next.
    ///
    /// - Parameter mayBeLong: whether it may stand in three quotes.
    /// - Returns: what it stands for.
    mutating func string(mayBeLong: Bool) throws(SyntaxProblem) -> String {
        let start = self
        let quote = next ?? 0
        let hasEscapes = quote == UInt8(ascii: "\"")
        let isLong = mayBeLong && peek(3).elementsEqual([quote, quote, quote])
        for _ in 0..<(isLong ? 3 : 1) { advance() }
        // The end of the line on which a long string opens is no part of it.
        if isLong { _ = take(UInt8(ascii: "\n")) }
        var content: [UInt8] = []
        while let byte = next {
            switch byte {
            case quote where isLong:
                let run = takeAll { $0 == quote }
                // Up to two quotes may stand right before the closing three.
                guard run.count <= 5 else { throw start.problem("the string ends with too many quotes; write three") }
                content += run.count < 3 ? run : run.dropLast(3)
                if run.count >= 3 { return String(decoding: content, as: UTF8.self) }
            case quote:
                advance()
                return String(decoding: content, as: UTF8.self)
            case UInt8(ascii: "\\") where hasEscapes:
                advance()
                content += try escape(isLong)
            case UInt8(ascii: "\n") where isLong:
                content.append(byte)
                advance()
            case UInt8(ascii: "\n"):
                throw start.problem("the string has no closing quote on its line")
            default:
                let run = takeAll { $0 != quote && !isControl($0) && !(hasEscapes && $0 == UInt8(ascii: "\\")) }
                guard !run.isEmpty else {
                    throw problem("a control character must be written as \\u and four digits, in double quotes")
                }
                content += run
            }
        }
        throw start.problem("the string has no closing quotes")
    }

    /// What follows a backslash.
    private mutating func escape(_ isLong: Bool) throws(SyntaxProblem) -> [UInt8] {
        let start = self
        switch next {
        case UInt8(ascii: "u"): return try codePoint(digits: 4)
        case UInt8(ascii: "U"): return try codePoint(digits: 8)
        case let letter?:
            let pairs = zip("btnfr\"\\".utf8, "\u{8}\t\n\u{c}\r\"\\".utf8)
            guard let pair = pairs.first(where: { $0.0 == letter }) else { break }
            advance()
            return [pair.1]
        case nil: break
        }
        // A backslash at the end of a line swallows all blanks up to the next character.
        skipSpaces()
        guard isLong, next == UInt8(ascii: "\n") else {
            throw start.problem("a backslash must be written \\\\, or the string must stand in single quotes")
        }
        _ = takeAll { " \t\n".utf8.contains($0) }
        return []
    }

    private mutating func codePoint(digits: Int) throws(SyntaxProblem) -> [UInt8] {
        let start = self
        advance()
        let hex = peek(digits)
        guard hex.count == digits, hex.allSatisfy({ isDigit($0, radix: 16) }),
            let scalar = UInt32(String(decoding: hex, as: UTF8.self), radix: 16).flatMap({ Unicode.Scalar($0) })
        else { throw start.problem("\\u must be followed by 4 and \\U by 8 hexadecimal digits of a character") }
        for _ in hex { advance() }
        return Array(String(scalar).utf8)
    }
}

/// Why a text is not TOML. Never holds a value of the text, which may be a secret.
struct SyntaxProblem: Error, Hashable {
    /// Counted from 1.
    var line: Int
    /// Counted from 1.
    var column: Int
    var message: String
}
