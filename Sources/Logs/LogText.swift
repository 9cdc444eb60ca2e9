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

    /// The most bytes that a scalar takes, as JSON or as text.
    private static func cost(_ scalar: Unicode.Scalar) -> Int {
        if scalar.isDisplayControl { return 6 * UTF16.width(scalar) }
        return scalar == "\"" || scalar == "\\" ? 2 : UTF8.width(scalar)
    }
}
