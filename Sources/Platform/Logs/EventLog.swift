public import DNSWire
public import Logging

/// Logs messages that may be frequent: one line a minute for each kind and subject, with the number of messages.
///
/// The first message is logged at once. Those that follow within the minute are counted, and at its end the last of
/// them is logged with the count, which starts another minute. So however many queries fail, the number of lines
/// depends on the number of subjects only.
@Loop
public final class EventLog: Sendable {
    /// The least time between two lines of one kind about one subject.
    public nonisolated static let interval: Duration = .seconds(60)
    /// Subjects that are distinguished at once; beyond, all of a kind count as one. Bounded, since addresses of
    /// services may come from the network.
    public nonisolated static let subjectLimit = 1_024

    private struct Key: Hashable {
        let kind: LogKind
        let subject: String
    }

    /// The minute after a line.
    private struct Window {
        let end: Instant
        var suppressed = 0
        var last: (message: LogMessage, at: Instant)?
        /// Logs what was suppressed at `end`; `nil` while nothing is, so that a line alone wakes nothing up later.
        var summary: LoopTimer?
    }

    /// For messages that cannot be frequent.
    public nonisolated let logger: Logger
    private let clock: any LoopClock
    private var windows: [Key: Window] = [:]
    /// No window ends before it.
    private var earliestEnd: Instant?

    public nonisolated init(_ logger: Logger, clock: any LoopClock) {
        self.logger = logger
        self.clock = clock
    }

    /// Logs a message, or counts it.
    public func report(_ kind: LogKind, about subject: String = "", _ text: String, _ fields: Logger.Metadata = [:]) {
        report(LogMessage(kind, about: subject, text, fields))
    }

    /// Logs the message, or counts it.
    public func report(_ message: LogMessage) {
        guard message.kind.level >= logger.logLevel else { return }
        forgetEnded()
        var key = Key(kind: message.kind, subject: message.subject)
        if windows[key] == nil, windows.count >= Self.subjectLimit { key = Key(kind: message.kind, subject: "") }
        guard var window = windows[key] else {
            logger.log(message.kind, message.text, message.fields)
            open(key)
            return
        }
        window.suppressed += 1
        window.last = (message, clock.now)
        if window.summary == nil {
            window.summary = clock.schedule(after: window.end - clock.now) { [self] in close(key) }
        }
        windows[key] = window
    }

    /// Logs the messages that were only counted so far.
    public func finish() {
        for (key, window) in windows {
            window.summary?.cancel()
            windows[key] = nil
            logSuppressed(window)
        }
    }

    private func open(_ key: Key) {
        let end = clock.now + Self.interval
        windows[key] = Window(end: end)
        earliestEnd = min(earliestEnd ?? end, end)
    }

    private func close(_ key: Key) {
        guard let window = windows.removeValue(forKey: key) else { return }
        logSuppressed(window)
        open(key)
    }

    /// Drops the windows in which nothing was suppressed and that are over.
    private func forgetEnded() {
        let now = clock.now
        guard let earliestEnd, earliestEnd <= now else { return }
        windows = windows.filter { $0.value.summary != nil || $0.value.end > now }
        self.earliestEnd = windows.values.map(\.end).min()
    }

    private func logSuppressed(_ window: Window) {
        guard let (message, at) = window.last else { return }
        let ago = (clock.now - at).components.seconds
        let often = window.suppressed == 1 ? "once" : "\(window.suppressed) times"
        logger.log(
            message.kind, "\(message.text) (again \(often) in the last minute, lastly \(ago) s ago)",
            message.fields.merging([
                LogFormatter.suppressedField: .stringConvertible(window.suppressed),
                LogFormatter.lastField: .stringConvertible(ago),
            ]) { $1 })
    }
}

/// A log message that may be frequent.
public struct LogMessage: Sendable {
    public let kind: LogKind
    /// The subject, such as an address: the rate of lines is limited for each subject of a kind.
    public let subject: String
    /// One line for people; control characters, which may come from the network, are escaped when it is written.
    public let text: String
    /// The same content for programs.
    public let fields: Logger.Metadata

    public init(_ kind: LogKind, about subject: String, _ text: String, _ fields: Logger.Metadata = [:]) {
        self.kind = kind
        self.subject = subject
        self.text = text
        self.fields = fields
    }
}
