import HTTPDNS

/// Makes arbitrary text fit for one line of a log.
enum LogText {
    /// The most bytes of one piece of text in a line, escapes included.
    static let limit = 2_048
    private static let ellipsis = "…"

    /// Returns the text, or as much of its beginning as fits the limit and an ellipsis.
    static func cut(_ text: String) -> String {
        // The escape of a scalar is at most 6 times as long as its bytes.
        guard text.utf8.count > limit / 6 else { return text }
        var bytes = 0
        for index in text.unicodeScalars.indices {
            bytes += cost(text.unicodeScalars[index])
            if bytes > limit - ellipsis.utf8.count { return String(text.unicodeScalars[..<index]) + ellipsis }
        }
        return text
    }

    /// Returns the text with every control character of a display escaped, as in `\x1b` and `\u{202e}`.
    static func escaped(_ text: String) -> String {
        guard text.unicodeScalars.contains(where: \.isDisplayControl) else { return text }
        var escaped = ""
        for scalar in text.unicodeScalars {
            guard scalar.isDisplayControl else {
                escaped.unicodeScalars.append(scalar)
                continue
            }
            let digits = String(scalar.value, radix: 16)
            escaped += scalar.value < 0x100 ? "\\x\(digits.utf8.count < 2 ? "0" : "")\(digits)" : "\\u{\(digits)}"
        }
        return escaped
    }

    /// The most bytes that a scalar takes, as JSON or as text.
    private static func cost(_ scalar: Unicode.Scalar) -> Int {
        if scalar.isDisplayControl { return 6 * UTF16.width(scalar) }
        return scalar == "\"" || scalar == "\\" ? 2 : UTF8.width(scalar)
    }
}
