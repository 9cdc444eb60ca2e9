import Admin
import Configuration
import DNSResolver
import Logging
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
            let source = source
            let loaded = try await NamedThread.run("reload") {
                Result { () throws(ConfigurationRefusal) in try source.check() }
            }.get()
            var settings = loaded.configuration
            report.restartNeeded = settings.keepStartSettings(of: composition.settings)
            report.warnings = loaded.warnings.map(\.description)
            threshold.set(settings.log.level)
            await replaceConfiguration(with: settings)
        } catch let refusal as ConfigurationRefusal {
            report.errors = refusal.lines
        } catch {
            report.errors = ["\(source.path): \(error)"]
        }
        report.generation = Int(generation.current)
        log(report)
        return report
    }

    private func log(_ report: ReloadReport) {
        guard report.errors.isEmpty else {
            logger.error("\(source.path) is refused, and the old configuration stays in force:")
            for line in report.errors { logger.error("\(line)") }
            return
        }
        for line in report.warnings { logger.warning("\(line)") }
        for key in report.restartNeeded { logger.warning("\(key) has changed: it takes effect at the next start") }
        logger.notice("\(source.path) is taken")
    }
}

extension Configuration {
    /// Puts back what only a start can change. Returns the keys that differ.
    fileprivate mutating func keepStartSettings(of old: Configuration) -> [String] {
        var changed: [String] = []
        keep(\.listen.addresses, of: old, "listen.addresses", &changed)
        keep(\.listen.udpThreads, of: old, "listen.udp_threads", &changed)
        keep(\.listen.user, of: old, "listen.user", &changed)
        keep(\.control.socket, of: old, "control.socket", &changed)
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
