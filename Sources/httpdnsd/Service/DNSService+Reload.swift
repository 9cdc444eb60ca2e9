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

    private func readAgain() async -> ReloadReport {
        var report = ReloadReport()
        do {
            // On a thread of its own: the loop never waits for a disk.
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
            await take(settings, stored: stored)
            if let files = settings.listen.tlsFiles, !files.certificate.isEmpty { certificate?.take(files) }
            // The old lists.
            returnFreeMemory()
        } catch let refusal as ConfigurationRefusal {
            report.errors = refusal.lines
        } catch {
            report.errors = ["\(source.path): \(error)"]
        }
        report.generation = Int(generation.current)
        tell(of: report)
        return report
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
