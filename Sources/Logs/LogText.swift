import HTTPDNS

/// Text that may hold anything, made fit for one line of a log.
enum LogText {
    /// Bytes that one piece of text takes in a line at most, however it is escaped.
    static let limit = 2_048
    private static let ellipsis = "…"

    /// The text if it is short enough, else as much of its beginning as is, and an ellipsis.
    static func cut(_ text: String) -> String {
        // No scalar's escape is longer than 6 bytes for each byte of it.
        guard text.utf8.count > limit / 6 else { return text }
        var bytes = 0
        for index in text.unicodeScalars.indices {
            bytes += cost(text.unicodeScalars[index])
            if bytes > limit - ellipsis.utf8.count { return String(text.unicodeScalars[..<index]) + ellipsis }
        }
        return text
    }

    /// The text with everything that a display would obey spelled out, as in `\x1b` and `\u{202e}`.
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

    /// Bytes that it takes at most, as JSON or as text.
    private static func cost(_ scalar: Unicode.Scalar) -> Int {
        if scalar.isDisplayControl { return 6 * UTF16.width(scalar) }
        return scalar == "\"" || scalar == "\\" ? 2 : UTF8.width(scalar)
    }
}
