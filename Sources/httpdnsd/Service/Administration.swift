import Admin
import Configuration
import DNSCache
import DNSResolver
import DNSServer
import DNSWire
import DiskCache
import Glibc
import HTTPDNS
import Platform
import Upstreams

/// What tells of the service, and takes commands: for the control API and for monitors. Without either DNS is served all the same.
@Loop
final class Administration {
    let service: DNSService
    let changes: ServiceChanges
    let queries: QueryLog
    let startedAt: Instant
    /// The same in seconds since 1970, by the clock of that time: metrics of one process must have one start.
    let startedTime = Int(time(nil))
    /// Whether the server takes no more queries.
    var isStopping = false
    /// Whether another process takes over right now.
    var isBeingReplaced: @Loop () -> Bool = { false }

    private var control: HTTPServer?
    private var monitor: HTTPServer?
    /// The listening socket for commands, while it is served.
    private(set) var controlNumber: Int32?
    /// How often a port for monitors is tried that another process holds: it may give it back.
    private static let pause: Duration = .seconds(1)

    var composition: Composition { service.composition }
    var resolver: Resolver { service.resolver }

    init(of service: DNSService, _ changes: ServiceChanges, _ queries: QueryLog) {
        self.service = service
        self.changes = changes
        self.queries = queries
        startedAt = service.loop.now
    }

    /// Takes commands from now on.
    func startControl(on sockets: ControlSockets?) {
        guard let sockets, let descriptor = sockets.commands.takeDescriptor() else { return }
        let number = descriptor.number
        do throws(SystemError) {
            control = try serve("control", on: ListeningSocket(local: descriptor), ControlAPI(target: self))
            controlNumber = number
        } catch {
            service.log.logger.log(.startControlSocket, "\(error); serving without a control socket")
            sockets.removeFiles()
        }
    }

    /// Answers monitors from now on.
    func startMonitor(at endpoint: AddressAndPort, isFirstTry: Bool = true) {
        guard !isStopping else { return }
        do throws(SystemError) {
            guard let address = SocketAddress(endpoint) else {
                throw SystemError(code: ENODEV, operation: "listen on \(endpoint)")
            }
            let monitors = MonitorAPI(target: self, looksUp: endpoint.address.isLoopback, clock: service.loop)
            monitor = try serve("control.http", on: ListeningSocket(address), monitors)
        } catch {
            if isFirstTry { service.log.logger.log(.startMonitor, "control.http: \(error); serving without metrics") }
            // The port is another server's, or the interface is not there yet.
            guard [EADDRINUSE, ENODEV].contains(error.code) else { return }
            _ = service.loop.schedule(after: Self.pause) { [weak self] in
                self?.startMonitor(at: endpoint, isFirstTry: false)
            }
        }
    }

    private func serve(
        _ name: String, on socket: ListeningSocket, _ api: any HTTPService
    ) throws(SystemError) -> HTTPServer {
        try HTTPServer(name, on: socket, service: api, loop: service.loop, events: service.events)
    }

    /// Takes no more commands. Harmless the second time.
    func stopControl() {
        control?.stop()
        control = nil
        controlNumber = nil
    }

    /// Answers neither commands nor monitors any more. Harmless the second time.
    func stop() {
        stopControl()
        monitor?.stop()
        monitor = nil
    }
}

// MARK: - Commands

extension Administration: ControlTarget {
    var querySources: [String] {
        AnswerKind.allCases.map(\.word) + composition.providers.map(\.entry.name)
    }

    func listen(for filter: QueryFilter) -> QueryListener? { queries.listen(for: filter) }

    func perform(_ command: ControlCommand) async throws(ControlFault) -> CommandReport {
        guard !command.isChange || !isBeingReplaced() else {
            throw .unavailable("another process takes over: nothing is changed meanwhile; ask again")
        }
        switch command {
        case .status:
            let (status, usesProxy) = (status, composition.settings.http.proxy != nil)
            return CommandReport(
                status.json, CommandOutput(status.text),
                rows: { Testimony(status) { usesProxy || $0.isRouted }.rows })
        case .policy:
            let policy = changes.policy.report
            return CommandReport(policy.json, CommandOutput(policy.text))
        case .list(let suffix, let limit, let cursor, let withRecords):
            guard let start = cursor.map({ CacheCursor($0) }) ?? .start else {
                throw .wrong("cursor: not one that was given")
            }
            let (answers, next) = await service.store.walks.answers(from: start, limit: limit) { name in
                suffix.map { name.isWithin($0) } ?? true
            }
            let report = CacheReport(
                entries: answers.map { entry(of: $0, withRecords: withRecords) }, next: next?.description)
            return CommandReport(
                report.json, CommandOutput(CacheReport.listText(report.entries.map(\.row))),
                rows: { report.entries.map(\.row) }, objects: { report.entries.map(\.json) }, next: report.next)
        case .show(let name, let types, let written):
            let (answers, _) = await service.store.walks.answers(from: .start, limit: .max) { $0 == name }
            var report = CacheReport(
                entries: answers.map { entry(of: $0, withRecords: true) },
                forged: Array(composition.checks.journal.entries(of: name).prefix(HijackedAddress.shown)))
            if let types { report.entries.removeAll { !types.contains($0.type) || $0.isSigned } }
            return CommandReport(report.json, report.output(for: written, types))
        case .why(let name):
            let client = ClientQuestion(
                question: Question(name: name, type: .a), client: .v4(0x7f00_0001), arrived: service.loop.now)
            let report = WhyReport(lines: resolver.provenance.explanation(of: name, for: client))
            return CommandReport(report.json, CommandOutput(report.lines.joined(separator: "\n")))
        case .trace(let question):
            let report = await trace(question)
            return CommandReport(report.json, CommandOutput(report.text, exitStatus: report.isAnswer ? 0 : 1))
        case .flush(let what):
            // Else the next question would bring the same answer back.
            if case .name(let name) = what { composition.shared?.remove(name) }
            let removed = await resolver.remove(what)
            _ = await changes.settle()
            return CommandReport(
                JSONWriter.object { $0.member("removed", removed) },
                CommandOutput(counted(removed, "answer") + " forgotten"))
        case .turn(let isOn):
            let isStored = await changes.turn(on: isOn)
            let isOffByPolicy = changes.policy.switchesOff
            let report = SwitchReport(
                isOn: resolver.isOn && !isOffByPolicy, isOffByPolicy: isOffByPolicy, isStored: isStored,
                generation: Int(service.generation.current))
            return CommandReport(report.json, CommandOutput(report.text))
        case .badAddresses:
            let report = badAddresses()
            return CommandReport(report.json, CommandOutput(report.text))
        case .reportBad(let address, let lifetime, let written):
            service.reported.report(address, lifetime: lifetime)
            changes.learned?.keepBadAddress(address)
            // Only now: what is stored meanwhile has the address at its end already.
            let report = badAddresses(removed: await resolver.remove(.holding(address)))
            _ = await changes.settle()
            let forgotten = counted(report.removed, "cached answer") + " forgotten"
            return CommandReport(report.json, CommandOutput("\(written) goes to the end of answers; \(forgotten)"))
        case .forgetBad(let address, let written):
            guard service.reported.remove(address) else { throw .notFound("\(address) is not reported") }
            changes.learned?.keepBadAddress(address)
            _ = await changes.settle()
            let report = badAddresses()
            return CommandReport(report.json, CommandOutput("\(written) is as good as any other"))
        case .tryReload:
            let report = await changes.tryReload()
            return CommandReport(report.json, report.output, rows: { report.rows })
        case .reload:
            let report = await changes.reload()
            return CommandReport(report.json, report.output, isRefused: !report.errors.isEmpty)
        }
    }

    private func entry(of cached: CachedAnswer, withRecords: Bool) -> CacheReport.Entry {
        let source = resolver.provenance.sourceName(of: cached)
        var report = CacheReport.Entry(
            Question(name: cached.name, type: cached.type), cached.entry.answer,
            isSigned: cached.dnssecOK || cached.checkingDisabled, isNegative: cached.entry.isNegative,
            age: Int(cached.entry.age(at: service.loop.now)), lifetime: Int(cached.entry.lifetime),
            source: source, withRecords: withRecords)
        // Also what was answered on another network.
        report.isStale = service.store.isStale(cached.entry)
        report.isUnusable = !resolver.provenance.isUsable(cached)
        report.clients = cached.scope.map { $0.network?.description ?? "no network" } ?? ""
        report.server = service.store.serverNames.name(of: cached.entry.server)
        return report
    }

    private func badAddresses(removed: Int = 0) -> BadAddressReport {
        let now = service.loop.now
        return BadAddressReport(
            addresses: service.reported.list.map { listed in
                .init(
                    address: listed.address.description, weight: Int((listed.weight * 100).rounded()),
                    fades: (listed.until - now).wholeSeconds)
            }, removed: removed)
    }
}

// MARK: - Monitors

extension Administration: MonitorTarget {
    var hosts: HTTPHosts { HTTPHosts(machine: hostName(), names: composition.settings.control.httpNames) }

    var traffic: TrafficReport {
        var report = TrafficReport()
        report.answers = AnswerKind.allCases.map { ($0.word, service.server.latencies($0)) }
        report.providers = composition.providers.map {
            ($0.entry.name, $0.upstream.account.latencies.total)
        }
        report.calls = composition.providers.flatMap(\.upstream.knownEndpoints)
            .reduce(0) { $0 &+ $1.health.counters.requests }
        let refused = service.server.refusedQueries
        report.unanswered = refused.overload + refused.dropped + refused.queue
        return report
    }

    func trace(_ question: Question) async -> TraceReport {
        let (trace, response) = await resolver.trace(question)
        var report = TraceReport()
        report.name = question.name.description
        report.type = question.type.description
        report.status = response.responseCode.description
        report.source = response.kind.word
        report.steps = trace.steps.map {
            .init(milliseconds: Int($0.after / .milliseconds(1)), kind: $0.kind.rawValue, text: $0.text)
        }
        return report
    }

    func findings(in status: StatusReport) -> [Finding] { Check.all.flatMap { $0.reported(status) { _ in true } } }

    var hottestNames: [NameCount]? { queries.hottestNames }

    var unreadiness: String? {
        if isStopping { return "stopping" }
        let status = status
        let providers = resolver.isOn && composition.settings.route.mode != .localDNSOnly ? status.providers : []
        let servers = status.localDNS + status.forwards.flatMap(\.servers)
        let canAnswer =
            providers.contains { $0.state.isAsked && $0.addresses.contains(where: \.state.isAsked) }
            || servers.contains(where: \.state.isAsked)
        return canAnswer ? nil : "no provider and no server of LocalDNS can be asked"
    }
}
