package import Logging
package import Scheduling

/// Logs messages that may be frequent: one line a minute for each kind and subject, with the number of messages.
///
/// The first message is logged at once. Those that follow within the minute are counted, and at its end the last of
/// them is logged with the count, which starts another minute. So however many queries fail, the number of lines
/// depends on the number of subjects only.
@Loop
package final class EventLog: Sendable {
    /// The least time between two lines of one kind about one subject.
    package nonisolated static let interval: Duration = .seconds(60)
    /// Subjects that are distinguished at once; beyond, all of a kind count as one. Bounded, since addresses of
    /// services may come from the network.
    package nonisolated static let subjectLimit = 1_024

    private struct Key: Hashable {
        let kind: LogKind
        let subject: String
    }

    /// The messages since the last line.
    private struct Window {
        var suppressed = 0
        var last: (message: LogMessage, at: Instant)?
        let end: LoopTimer
    }

    /// For messages that cannot be frequent.
    package nonisolated let logger: Logger
    private let clock: any LoopClock
    private var windows: [Key: Window] = [:]

    package nonisolated init(_ logger: Logger, clock: any LoopClock) {
        self.logger = logger
        self.clock = clock
    }

    /// Logs the message, or counts it.
    package func report(_ message: LogMessage) {
        guard message.kind.level >= logger.logLevel else { return }
        var key = Key(kind: message.kind, subject: message.subject)
        if windows[key] == nil, windows.count >= Self.subjectLimit { key = Key(kind: message.kind, subject: "") }
        guard windows[key] == nil else {
            windows[key]?.suppressed += 1
            windows[key]?.last = (message, clock.now)
            return
        }
        logger.log(message.kind, message.text, message.fields)
        open(key)
    }

    /// Logs the messages that were only counted so far.
    package func finish() {
        for (key, window) in windows {
            window.end.cancel()
            windows[key] = nil
            _ = logSuppressed(window)
        }
    }

    private func open(_ key: Key) {
        let end = clock.schedule(after: Self.interval) { [self] in close(key) }
        windows[key] = Window(end: end)
    }

    private func close(_ key: Key) {
        guard let window = windows.removeValue(forKey: key) else { return }
        if logSuppressed(window) { open(key) }
    }

    /// - Returns: whether there were any.
    private func logSuppressed(_ window: Window) -> Bool {
        guard let (message, at) = window.last else { return false }
        let ago = (clock.now - at).components.seconds
        let often = window.suppressed == 1 ? "once" : "\(window.suppressed) times"
        logger.log(
            message.kind, "\(message.text) (again \(often) in the last minute, lastly \(ago) s ago)",
            message.fields.merging([
                LogFormatter.suppressedField: .stringConvertible(window.suppressed),
                LogFormatter.lastField: .stringConvertible(ago),
            ]) { $1 })
        return true
    }
}
