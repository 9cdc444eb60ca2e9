import HTTPDNS
package import Logging

/// A log message that may be frequent.
package struct LogMessage: Sendable {
    package let kind: LogKind
    /// The subject, such as an address: the rate of lines is limited for each subject of a kind.
    package let subject: String
    /// One line for people; control characters, which may come from the network, are escaped when it is written.
    package let text: String
    /// The same content for programs.
    package let fields: Logger.Metadata

    package init(_ kind: LogKind, about subject: String, _ text: String, _ fields: Logger.Metadata = [:]) {
        self.kind = kind
        self.subject = subject
        self.text = text
        self.fields = fields
    }
}

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
