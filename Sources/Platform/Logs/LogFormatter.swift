import DNSWire
import Glibc
import HTTPDNS
import Logging
import Synchronization

/// The format of log lines.
public enum LogStyle: String, Sendable, CaseIterable {
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
        let message = Self.cut(message)
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
                case .stringConvertible(let number as any BinaryInteger): writer.member(key, Int(clamping: number))
                case .stringConvertible(let time as Milliseconds):
                    writer.member(key, thousandths: time.microseconds)
                default: writer.member(key, Self.cut("\(value)"))
                }
            }
        }
    }

    // MARK: Length

    /// The most bytes of one piece of text in a line, escapes included.
    static let limit = 2_048
    private static let ellipsis = "…"

    /// The text, or as much of its beginning as fits the limit and an ellipsis.
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

/// A date and time in UTC, as logs and records show it.
public struct UTCTime: Sendable {
    /// Milliseconds since 1970, without leap seconds.
    private let milliseconds: Int64

    /// - Parameter milliseconds: since 1970, without leap seconds.
    public init(milliseconds: Int64) { self.milliseconds = milliseconds }

    /// By the system clock.
    public static var now: UTCTime {
        var time = timespec()
        unsafe clock_gettime(CLOCK_REALTIME, &time)
        return UTCTime(milliseconds: Int64(time.tv_sec) * 1_000 + Int64(time.tv_nsec) / 1_000_000)
    }
}

extension UTCTime: CustomStringConvertible {
    /// ISO 8601, such as `2026-08-01T12:34:56.789Z`.
    public var description: String {
        let (days, ofDay) = milliseconds.floored(by: 86_400_000)
        let date = UTCDate(daysSince1970: days)
        let seconds = ofDay / 1_000
        return Self.padded(date.year, 4) + "-" + Self.padded(date.month, 2) + "-" + Self.padded(date.day, 2) + "T"
            + Self.padded(seconds / 3_600, 2) + ":" + Self.padded(seconds / 60 % 60, 2) + ":"
            + Self.padded(seconds % 60, 2) + "." + Self.padded(ofDay % 1_000, 3) + "Z"
    }

    private static func padded(_ value: Int64, _ width: Int) -> String {
        let digits = String(value)
        return String(repeating: "0", count: max(0, width - digits.utf8.count)) + digits
    }
}

/// A duration, printed in milliseconds with three decimals.
public struct Milliseconds: CustomStringConvertible, Sendable {
    public let microseconds: Int64

    /// - Parameter duration: a negative one counts as zero.
    public init(_ duration: Duration) { microseconds = max(0, duration.nanoseconds / 1_000) }

    /// As in `12.345`.
    public var description: String {
        "\(microseconds / 1_000).\(String(1_000 + microseconds % 1_000).dropFirst())"
    }
}
