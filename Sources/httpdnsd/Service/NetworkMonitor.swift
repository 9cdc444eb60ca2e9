import Logs
import Platform
import Scheduling

/// How often the network has changed.
struct NetworkChanges {
    var count = 0
    var last: Instant?
}

/// Notices that the network has become another one: by addresses, routes and links, by the files that name its resolvers,
/// and by a sleep of the machine.
@Loop
final class NetworkMonitor {
    /// Addresses, routes and files change in bursts. The kernel itself may tell of a carrier only after a second, and a
    /// second and a half after a cable is plugged in names must be answered again.
    static let quiet = Duration.milliseconds(100)
    static let longest = Duration.seconds(1)

    /// What gave a change away.
    struct Signs: OptionSet {
        let rawValue: UInt8
        /// Addresses, routes, links.
        static let links = Signs(rawValue: 1)
        /// The files were written or replaced, perhaps with the same content.
        static let files = Signs(rawValue: 2)
        static let sleep = Signs(rawValue: 4)
    }

    private let loop: EventLoop
    private let events: EventLog
    private let onChange: @Loop (Signs) -> Void
    private var signs: Signs = []
    private var debounce: Debounce?
    private var links: NetworkWatch?
    private var resume: ResumeWatch?
    private var files: FileWatch?

    /// Watches what can be watched; of the rest the log hears once.
    init(
        on loop: EventLoop, paths: NetworkPaths, events: EventLog, onChange: @escaping @Loop (Signs) -> Void
    ) {
        self.loop = loop
        self.events = events
        self.onChange = onChange
        debounce = Debounce(quiet: Self.quiet, longest: Self.longest, clock: loop) { [weak self] in self?.settled() }
        links = attempt { () throws(SystemError) in
            try NetworkWatch(on: loop, paths: paths) { [weak self] in self?.saw(.links) }
        }
        resume = attempt { () throws(SystemError) in
            try ResumeWatch(on: loop) { [weak self] _ in self?.saw(.sleep) }
        }
    }

    /// Watches these files, in place of others.
    func watch(_ paths: [String]) {
        files?.cancel()
        files = attempt { () throws(SystemError) in
            try FileWatch(paths, on: loop) { [weak self] in self?.saw(.files) }
        }
    }

    private func attempt<Kind>(_ make: () throws(SystemError) -> Kind) -> Kind? {
        do throws(SystemError) {
            return try make()
        } catch {
            events.report(
                LogMessage(
                    .networkUnwatched, about: error.operation,
                    "\(error): some changes of the network go unnoticed; a reload takes them in"))
            return nil
        }
    }

    private func saw(_ sign: Signs) {
        signs.insert(sign)
        debounce?.touch()
    }

    private func settled() {
        let seen = signs
        signs = []
        onChange(seen)
    }
}
