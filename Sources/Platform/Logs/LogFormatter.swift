import HTTPDNS
import Logging
import Synchronization

/// The format of log lines.
package enum LogStyle: String, Sendable, CaseIterable {
    /// Text, for people.
    case text
    /// One JSON object per line, for programs.
    case json
}

/// Formats the lines of the log.
final class LogFormatter: Sendable {
    /// The member of the JSON object with the number of messages that a line stands for beside the first one, which was logged before.
    static let suppressedField = "suppressed"
    /// The member with the age in seconds of the last of these.
    static let lastField = "last_seconds_ago"

    /// Whether the journal reads the stream: lines then begin with a priority as in sd-daemon(3), and have no time.
    private let isJournal: Bool
    private let isJSON: Atomic<Bool>

    init(_ style: LogStyle, isJournal: Bool) {
        self.isJournal = isJournal
        isJSON = Atomic(style == .json)
    }

    func set(_ style: LogStyle) { isJSON.store(style == .json, ordering: .relaxed) }

    /// One line with its line end.
    func line(
        _ level: Logger.Level, _ message: String, _ fields: Logger.Metadata, at time: UTCTime = .now
    ) -> [UInt8] {
        let message = LogText.cut(message)
        let prefix = isJournal ? "<\(level.priority)>" : ""
        let body =
            isJSON.load(ordering: .relaxed)
            ? Self.json(level, message, fields, time)
            : (isJournal ? "" : "\(time) \(level): ") + VisibleText(message).description
        return Array((prefix + body + "\n").utf8)
    }

    private static func json(
        _ level: Logger.Level, _ message: String, _ fields: Logger.Metadata, _ time: UTCTime
    ) -> String {
        JSONWriter.object { writer in
            writer.member("time", time.description)
            writer.member("level", level.rawValue)
            if let kind = fields[LogKind.field] { writer.member(LogKind.field, "\(kind)") }
            writer.member("message", message)
            for (key, value) in fields.sorted(by: { $0.key < $1.key }) where key != LogKind.field {
                switch value {
                case .stringConvertible(let number as any BinaryInteger): Self.write(number, key, to: &writer)
                case .stringConvertible(let time as Milliseconds):
                    writer.member(key, thousandths: time.microseconds)
                default: writer.member(key, LogText.cut("\(value)"))
                }
            }
        }
    }

    private static func write(_ number: some BinaryInteger, _ key: String, to writer: inout JSONWriter) {
        writer.member(key, number)
    }
}

extension Logger.Level {
    /// The syslog priority of the level (sd-daemon(3)).
    fileprivate var priority: Int {
        switch self {
        case .trace, .debug: 7
        case .info: 6
        case .notice: 5
        case .warning: 4
        case .error: 3
        case .critical: 2
        }
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
