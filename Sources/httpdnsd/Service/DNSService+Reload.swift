import Admin
import Configuration
import DNSResolver
import DNSServer
import Logs
import Platform
import Scheduling

extension DNSService {
    /// Reads the configuration again and takes it, or refuses it whole and goes on with the old one.
    ///
    /// Questions are answered meanwhile as before. Several at once are done one after the other.
    func reload() async -> ReloadReport { await reloadTurn.pass { await self.readAgain() } }

    /// What `reload` would say now; nothing changes.
    func tryReload() async -> ReloadReport { await read().report }

    private func readAgain() async -> ReloadReport {
        var (report, read) = await read()
        reloadErrors = report.errors
        if let (settings, stored) = read.take() {
            await take(settings, stored: stored)
            if let files = settings.listen.tlsFiles, !files.certificate.isEmpty { certificate?.take(files) }
            // The old lists.
            returnFreeMemory()
        }
        report.generation = Int(generation.current)
        tell(of: report)
        return report
    }

    /// Reads the file, on a thread of its own: the loop never waits for a disk.
    ///
    /// - Returns: what is to be said, and unless it is refused the configuration, with the policy that is stored for it.
    private func read() async -> (report: ReloadReport, read: (settings: Configuration, stored: SignedPolicy?)?) {
        var report = ReloadReport()
        report.generation = Int(generation.current)
        do {
            let (source, policy, running) = (source, policy, composition.settings)
            let (settings, warnings, restartNeeded, stored) = try await NamedThread.run("reload") {
                Result { () throws(ConfigurationRefusal) in
                    let loaded = try source.check(isRunning: true)
                    var settings = loaded.configuration
                    let warnings = loaded.warnings.map(\.description) + settings.remarks
                    let restartNeeded = settings.keepStartSettings(of: running)
                    // Where this process stores it, whatever the file says now.
                    return (settings, warnings, restartNeeded, stored: policy.stored(by: settings))
                }
            }.get()
            (report.restartNeeded, report.warnings) = (restartNeeded, warnings)
            if budget.wouldGrow(cache: settings.cache.memory) { report.restartNeeded.append("cache.memory") }
            return (report, (settings, stored))
        } catch let refusal as ConfigurationRefusal {
            report.errors = refusal.lines
            // Where root was given up, a start reads with the rights of root.
            report.isMendedByRestart = refusal.isMendedByRestart || !composition.settings.listen.user.isEmpty
        } catch {
            report.errors = ["\(source.path): \(error)"]
        }
        return (report, nil)
    }

    private func tell(of report: ReloadReport) {
        guard report.errors.isEmpty else {
            log.logger.log(.reloadRefused, "\(source.path) is refused, and the old configuration stays in force:")
            for line in report.errors { log.logger.log(.reloadRefused, line) }
            return
        }
        for line in report.warnings { log.logger.log(.configurationWarning, line) }
        for key in report.restartNeeded {
            log.logger.log(.reloadRestartNeeded, "\(key) has changed: it takes effect at the next start")
        }
        log.logger.log(.reloadTaken, "\(source.path) is taken")
    }
}

extension Configuration {
    /// Puts back what only a start can change. Returns the keys that differ.
    fileprivate mutating func keepStartSettings(of old: Configuration) -> [String] {
        var changed: [String] = []
        keep(\.listen.addresses, of: old, "listen.addresses", &changed)
        keep(\.listen.tls, of: old, "listen.tls", &changed)
        keep(\.listen.https, of: old, "listen.https", &changed)
        keep(\.listen.httpsPath, of: old, "listen.https_path", &changed)
        keep(\.listen.httpdns, of: old, "listen.httpdns", &changed)
        keep(\.listen.udpThreads, of: old, "listen.udp_threads", &changed)
        keep(\.listen.user, of: old, "listen.user", &changed)
        keep(\.limits.memory, of: old, "limits.memory", &changed)
        keep(\.control.socket, of: old, "control.socket", &changed)
        keep(\.control.group, of: old, "control.group", &changed)
        keep(\.control.mode, of: old, "control.mode", &changed)
        keep(\.control.http, of: old, "control.http", &changed)
        keep(\.cache.disk.path, of: old, "cache.disk.path", &changed)
        keep(\.log.dnstap, of: old, "log.dnstap", &changed)
        // In the sandbox no such socket can be made.
        if connectsToUnixSockets, !old.connectsToUnixSockets {
            cache.shared = old.cache.shared
            changed.append("cache.shared.url")
        }
        return changed
    }

    private mutating func keep<Value: Equatable>(
        _ setting: WritableKeyPath<Configuration, Value>, of old: Configuration, _ key: String,
        _ changed: inout [String]
    ) {
        guard self[keyPath: setting] != old[keyPath: setting] else { return }
        changed.append(key)
        self[keyPath: setting] = old[keyPath: setting]
    }
}
