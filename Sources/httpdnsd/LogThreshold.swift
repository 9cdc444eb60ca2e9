import Configuration
import Logging
import Synchronization

/// The least severe level that is logged, for every logger of the process at once: a reload may change it.
final class LogThreshold: Sendable {
    private let level: Mutex<Logger.Level>

    init(_ level: LogLevel) { self.level = Mutex(Logger.Level(level)) }

    var current: Logger.Level { level.withLock { $0 } }

    func set(_ level: LogLevel) { self.level.withLock { $0 = Logger.Level(level) } }
}

extension Logger.Level {
    fileprivate init(_ level: LogLevel) { self = Logger.Level(rawValue: level.rawValue) ?? .info }
}

/// Writes to standard error what passes the threshold.
struct ThresholdLogHandler: LogHandler {
    private let threshold: LogThreshold
    private var stream: StreamLogHandler

    init(label: String, threshold: LogThreshold) {
        self.threshold = threshold
        stream = StreamLogHandler.standardError(label: label)
        stream.logLevel = .trace
    }

    /// The threshold's; a logger cannot have one of its own.
    var logLevel: Logger.Level {
        get { threshold.current }
        set {}
    }

    var metadata: Logger.Metadata {
        get { stream.metadata }
        set { stream.metadata = newValue }
    }

    subscript(metadataKey key: String) -> Logger.Metadata.Value? {
        get { stream[metadataKey: key] }
        set { stream[metadataKey: key] = newValue }
    }

    func log(event: LogEvent) { stream.log(event: event) }
}
