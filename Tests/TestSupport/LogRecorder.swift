package import Logging
import Synchronization

/// Records what is logged.
package final class LogRecorder: Sendable {
    private let recorded = Mutex<[String]>([])

    package init() {}

    /// The messages.
    package var lines: [String] { recorded.withLock { $0 } }

    package var logger: Logger { Logger(label: "test") { _ in Handler(recorder: self) } }

    private struct Handler: LogHandler {
        let recorder: LogRecorder
        var metadata: Logger.Metadata = [:]
        var logLevel: Logger.Level = .trace

        subscript(metadataKey key: String) -> Logger.MetadataValue? {
            get { metadata[key] }
            set { metadata[key] = newValue }
        }

        func log(event: LogEvent) {
            recorder.recorded.withLock { $0.append("\(event.message)") }
        }
    }
}
