import Admin
import Configuration
import DNSResolver
import DNSServer
import DNSWire
import DiskCache
import Glibc
import Platform

/// What changes the service while it runs: a reload of the configuration, the signed policy, the network, and the switch.
@Loop
final class ServiceChanges {
    private let service: DNSService
    private let queries: QueryLog
    let policy: PolicyKeeper
    private(set) lazy var network = NetworkFollower(of: service) { [unowned self] in
        learned?.forgetVerdicts()
        policy.networkChanged()
    }
    /// Nil without a cache on disk.
    let learned: LearnedState?
    /// Where there is no cache on disk.
    private let switchFile: SwitchFile?
    /// Where the configuration is read again.
    let source: ConfigurationSource
    /// As the file has it, before the signed policy.
    private var base: Configuration
    /// How often the configuration was read again and taken.
    private(set) var reloads = 0
    /// Why the last reload was refused; empty when it was not.
    private(set) var reloadErrors: [String] = []
    private let turn = Turnstile()

    /// - Parameters:
    ///   - base: the configuration as `source` has it.
    ///   - policy: what `service` was made with.
    init(
        of service: DNSService, _ queries: QueryLog, base: Configuration, from source: ConfigurationSource,
        policy: PolicyKeeper
    ) {
        self.service = service
        self.queries = queries
        self.base = base
        self.source = source
        self.policy = policy
        learned = service.disk.map { LearnedState(of: service, on: $0) }
        switchFile = SwitchFile(base)
        if switchFile?.isOff == true { service.turn(on: false) }
        // Not of what is in force of both: lists that were merged have other places.
        service.resolver.placeOfRule = { [unowned self] in
            self.policy.place(of: $0) ?? self.base.place(of: $0, file: self.source.path)
        }
    }

    /// Follows the network and fetches the policy from now on. Once, after the server listens.
    func start() {
        network.start()
        policy.start(
            fetchingBy: { [unowned self] in
                $0.fetch(by: base, service.composition.hosts, paths: service.paths, loop: service.loop)
            },
            onChange: { [unowned self] in await turn.pass { await self.putInForce() } })
    }

    // MARK: The switch

    /// Switches HTTPDNS on or off. Returns whether a restart finds the switch as it stands then.
    func turn(on isOn: Bool) async -> Bool {
        service.turn(on: isOn)
        learned?.keepSwitch(isOn: isOn)
        // As it stands when this is written: another command may have come.
        if let switchFile { return await switchFile.store(isOn: service.resolver.isOn) }
        return await settle()
    }

    /// Waits until what a command changed outlasts this process; false where there is no cache on disk that can be used.
    func settle() async -> Bool { await service.disk?.settle(clock: service.loop) ?? false }

    // MARK: The configuration

    /// Reads the configuration again and takes it, or refuses it whole and goes on with the old one.
    ///
    /// Questions are answered meanwhile as before. Several at once are done one after the other.
    func reload() async -> ReloadReport { await turn.pass { await self.readAgain() } }

    /// What `reload` would say now; nothing changes.
    func tryReload() async -> ReloadReport { await read().report }

    private func readAgain() async -> ReloadReport {
        var (report, read) = await read()
        reloadErrors = report.errors
        if let (settings, stored) = read.take() {
            base = settings
            reloads += 1
            policy.take(settings, stored: stored)
            await putInForce()
            policy.resume()
            if let files = settings.listen.tlsFiles, !files.certificate.isEmpty { service.certificate?.take(files) }
            // The old lists.
            returnFreeMemory()
        }
        report.generation = Int(service.generation.current)
        tell(of: report)
        return report
    }

    /// Reads the file, on a thread of its own: the loop never waits for a disk.
    ///
    /// - Returns: what is to be said, and unless it is refused the configuration, with the policy that is stored for it.
    private func read() async -> (report: ReloadReport, read: (settings: Configuration, stored: SignedPolicy?)?) {
        var report = ReloadReport()
        report.generation = Int(service.generation.current)
        do {
            let (source, policy, running) = (source, policy, service.composition.settings)
            let (settings, warnings, restartNeeded, stored) = try await NamedThread.run("reload") {
                Result { () throws(ConfigurationRefusal) in
                    let loaded = try source.check(isRunning: true)
                    var settings = loaded.configuration
                    // A start with other rights may read what this process cannot.
                    let atStart = source.startsAsRoot ? [] : settings.certificateProblems + settings.startProblems
                    let warnings =
                        loaded.warnings.map(\.description) + settings.remarks
                        + atStart.map { "at the next start: \($0)" }
                    let restartNeeded = settings.keepStartSettings(of: running)
                    // Where this process stores it, whatever the file says now.
                    return (settings, warnings, restartNeeded, stored: policy.stored(by: settings))
                }
            }.get()
            (report.restartNeeded, report.warnings) = (restartNeeded, warnings)
            if service.budget.wouldGrow(cache: settings.cache.memory) { report.restartNeeded.append("cache.memory") }
            return (report, (settings, stored))
        } catch let refusal as ConfigurationRefusal {
            report.errors = refusal.lines
            report.isMendedByRestart = refusal.isMendedByRestart
        } catch {
            report.errors = ["\(source.path): \(error)"]
        }
        return (report, nil)
    }

    /// Serves by the configuration and the policy that is in force with it.
    private func putInForce() async {
        guard let policy = policy.decide() else { return await replaceConfiguration(with: base) }
        // On a thread of its own: lists are long.
        let merged = try? await NamedThread.run("policy") { [base] in policy.applied(to: base) }
        await replaceConfiguration(with: merged ?? policy.applied(to: base))
    }

    private func replaceConfiguration(with settings: Configuration) async {
        let isOtherNetwork = network.noticeFiles()
        let old = service.replaceSources(by: settings)
        learned?.follow()
        service.log.set(settings.log.format, level: settings.log.level)
        if isOtherNetwork {
            learned?.forgetVerdicts()
            policy.networkChanged()
        }
        queries.configurationChanged()
        network.configurationChanged(from: old)
        if settings.cache != old.settings.cache { await service.rebuildCache() }
    }

    private func tell(of report: ReloadReport) {
        guard report.errors.isEmpty else {
            service.log.logger.log(
                .reloadRefused, "\(source.path) is refused, and the old configuration stays in force:")
            for line in report.errors { service.log.logger.log(.reloadRefused, line) }
            return
        }
        for line in report.warnings { service.log.logger.log(.configurationWarning, line) }
        for key in report.restartNeeded {
            service.log.logger.log(.reloadRestartNeeded, "\(key) has changed: it takes effect at the next start")
        }
        service.log.logger.log(.reloadTaken, "\(source.path) is taken")
    }
}

extension Configuration {
    /// Puts back what only a start can change. Returns the keys that differ.
    fileprivate mutating func keepStartSettings(of old: Configuration) -> [String] {
        var changed: [String] = []
        func keep<Value: Equatable>(_ key: String, _ setting: WritableKeyPath<Configuration, Value>) {
            guard self[keyPath: setting] != old[keyPath: setting] else { return }
            changed.append(key)
            self[keyPath: setting] = old[keyPath: setting]
        }
        keep("listen.addresses", \.listen.addresses)
        keep("listen.tls", \.listen.tls)
        keep("listen.https", \.listen.https)
        keep("listen.https_path", \.listen.httpsPath)
        keep("listen.httpdns", \.listen.httpdns)
        keep("listen.udp_threads", \.listen.udpThreads)
        keep("listen.user", \.listen.user)
        keep("limits.memory", \.limits.memory)
        keep("control.socket", \.control.socket)
        keep("control.group", \.control.group)
        keep("control.mode", \.control.mode)
        keep("control.http", \.control.http)
        keep("cache.disk.path", \.cache.disk.path)
        keep("log.dnstap", \.log.dnstap)
        // In the sandbox no such socket can be made.
        if connectsToUnixSockets, !old.connectsToUnixSockets { keep("cache.shared", \.cache.shared) }
        return changed
    }
}

/// The switch of a server without a cache on disk: a file beside its control socket, which is there while HTTPDNS is off.
struct SwitchFile: Sendable {
    private let path: String

    /// Nil where the cache on disk has the switch, or nothing can switch.
    init?(_ settings: Configuration) {
        guard settings.cache.disk.path.isEmpty, !settings.control.socket.isEmpty else { return nil }
        path = settings.control.socket + ".off"
    }

    /// Whether HTTPDNS was off when the last process ended. What another user has left in the folder says nothing.
    var isOff: Bool {
        var state = stat()
        guard unsafe lstat(path, &state) == 0 else { return false }
        return state.st_mode & S_IFMT == S_IFREG && state.st_uid == geteuid()
    }

    /// Stores how the switch stands, on a thread of its own. Returns whether a restart finds it.
    func store(isOn: Bool) async -> Bool {
        do {
            return try await NamedThread.run("switch") { [self] in
                Result { () throws(SystemError) -> Bool in
                    if isOn { return unsafe unlink(path) == 0 || errno == ENOENT }
                    try replaceFile(path, [], mode: 0o600)
                    return true
                }
            }.get()
        } catch {
            return false
        }
    }
}
