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
