import Admin
import Configuration
import DNSResolver
import DNSServer
import DNSWire
import Glibc
import Logging
import Platform
import Upstreams

/// What people see of single queries: in the log, where that is configured, as listeners of the control API, and on the page
/// the names that are asked for most.
@Loop
final class QueryLog {
    private let service: DNSService
    private let listeners: QueryListeners
    /// The names that are asked for most, where they may be shown.
    private var names: HottestNames
    /// All since the start: of what comes within a minute, the log shows only the last.
    private var dropped = 0
    /// Of this machine.
    let programs = LocalPrograms()

    /// Takes every query that the server tells of from now on.
    init(of service: DNSService) {
        self.service = service
        listeners = QueryListeners(clock: service.loop)
        names = HottestNames(at: service.loop.now)
        service.server.feed.receive { [unowned self] in
            take($0)
        } missed: { [unowned self] in
            missed($0)
        }
        turnFeed()
    }

    private func take(_ query: AnsweredQuery) {
        let source = service.resolver.provenance.sourceName(query.kind, query.source)
        if countsNames, let question = query.question { names.add(question.name, at: service.loop.now) }
        if isLogging {
            let report = report(of: query, source)
            service.log.write(.query, "query \(report.summary)", fields(of: report))
        }
        listeners.add(
            query.question?.name, from: query.client, source: source.word, source.provider, took: query.took
        ) {
            report(of: query, source)
        }
        // The last may have gone.
        turnFeed()
    }

    private func missed(_ count: Int) {
        listeners.missed(count)
        guard isLogging else { return }
        dropped += count
        service.events.report(
            .logQueriesDropped,
            "queries come faster than they can be logged: \(dropped) since the start were answered and not logged",
            ["dropped": .stringConvertible(dropped)])
    }

    /// Makes the server tell of queries as long as they are logged or have listeners.
    private func turnFeed() { service.server.feed.turn(on: isLogging || !listeners.isEmpty) }

    /// Logs by the configuration that is in force now.
    func configurationChanged() {
        turnFeed()
        if !countsNames { names = HottestNames(at: service.loop.now) }
    }

    func listen(for filter: QueryFilter) -> QueryListener? {
        defer { turnFeed() }
        return listeners.add(filter)
    }

    /// Whether the names of queries are counted for the page: where the log has them, and no other machine sees the page.
    private var countsNames: Bool {
        isLogging && service.composition.settings.control.http?.address.isLoopback == true
    }

    var hottestNames: [NameCount]? { countsNames ? names.top(at: service.loop.now) : nil }

    private var isLogging: Bool { service.composition.settings.log.queries }

    private func report(of query: AnsweredQuery, _ source: SourceName) -> QueryReport {
        var report = QueryReport()
        report.time = UTCTime.now.description
        report.client = query.client.description
        report.program = query.network.flatMap(programs.text) ?? ""
        report.transport = query.transport.label
        if let question = query.question {
            report.name = question.name.description
            report.type = question.type.description
            report.route = service.resolver.route(of: question.name).description
        }
        report.rcode = query.responseCode.description
        report.source = source.word
        report.provider = source.provider
        report.microseconds = Int(Milliseconds(query.took).microseconds)
        return report
    }

    private func fields(of report: QueryReport) -> Logger.Metadata {
        [
            "client": "\(report.client)", "transport": "\(report.transport)", "name": "\(report.name)",
            "type": "\(report.type)", "rcode": "\(report.rcode)", "route": "\(report.route)",
            "source": "\(report.source)", "provider": "\(report.provider)", "ms": .stringConvertible(report.took),
        ]
    }
}

/// What the programs of this machine are called: their user, and their systemd unit or other control group.
@Loop
final class LocalPrograms {
    /// The most names that are remembered; then all are looked up again.
    private static let limit = 256
    /// The most groups that are looked at for one: a few milliseconds, on the loop.
    private static let mostGroups = 1_024
    private static let root = "/sys/fs/cgroup"

    /// By the numbers of their groups; empty: there is none by this number.
    private var groups: [UInt64: String] = [:]

    /// `user 1000 (app.service)`; nil for clients that are no programs of this machine.
    func text(of network: ClientNetwork) -> String? {
        guard let program = network.program else { return nil }
        let group = name(of: program.group)
        return "user \(program.user)" + (group.isEmpty ? "" : " (\(group))")
    }

    /// The last part of the path of a group.
    private func name(of number: UInt64) -> String {
        if let known = groups[number] { return known }
        if groups.count >= Self.limit { groups = [:] }
        var left = Self.mostGroups
        let found = Self.folder(numbered: number, below: Self.root, &left)
        let name = found.flatMap { $0 == Self.root ? nil : $0.split(separator: "/").last.map(String.init) } ?? ""
        groups[number] = name
        return name
    }

    private static func folder(numbered number: UInt64, below path: String, _ left: inout Int) -> String? {
        var status = stat()
        guard left > 0, unsafe lstat(path, &status) == 0, status.st_mode & S_IFMT == S_IFDIR else { return nil }
        left -= 1
        if UInt64(status.st_ino) & 0xff_ffff == number { return path }
        for (name, isFolder) in RootFolder("").entries(of: path) ?? [] where isFolder && !name.hasPrefix(".") {
            if let found = folder(numbered: number, below: path + "/" + name, &left) { return found }
        }
        return nil
    }
}
