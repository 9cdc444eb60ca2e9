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
