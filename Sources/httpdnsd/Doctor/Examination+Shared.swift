import Configuration
import Logging
import Logs
import Platform
import Scheduling
import Upstreams

// The shared cache, asked from this machine as the server would ask it.

extension Examination {
    /// Asks the shared cache of the configuration; nil where there is none.
    ///
    /// - Parameter patience: how long it may take; this blocks as long.
    func askSharedCache(_ patience: Duration) throws(SystemError) -> SharedExamination? {
        guard settings.cache.shared.url != nil else { return nil }
        let loop = try EventLoop()
        let visit = SharedVisit(loop)
        Loop.spawn { [settings] in
            await visit.run(settings, patience)
            loop.stop()
        }
        loop.run()
        return Loop.assumeIsolated { visit.examination }
    }
}

/// One examination of the shared cache, and its outcome.
@Loop
private final class SharedVisit {
    private(set) var examination: SharedExamination?
    private let loop: EventLoop

    nonisolated init(_ loop: EventLoop) { self.loop = loop }

    func run(_ settings: Configuration, _ patience: Duration) async {
        let logger = Logger(label: "httpdnsd") { _ in SwiftLogNoOpLogHandler() }
        let composition = Composition(settings, loop: loop, events: EventLog(logger, clock: loop))
        examination = await composition.shared?.store.examine(until: loop.now + patience)
    }
}
