import ArgumentParser
import Configuration
import DNSWire
import Glibc
import Logging
import Platform

/// `httpdnsd serve`: the daemon.
struct ServeCommand: ParsableCommand {
    static let configuration = CommandConfiguration(commandName: "serve", abstract: "Serves DNS (the default command).")

    @OptionGroup var file: ConfigurationFile

    @Option(name: .customLong("listen"), help: "Listen here instead, such as 127.0.0.1:5353; may be repeated.")
    var listen: [String] = []

    func validate() throws {
        for text in listen where Endpoint(text) == nil {
            throw ValidationError("--listen \(text): not an address with a port, such as 127.0.0.1:53 or [::1]:53")
        }
    }

    func run() throws {
        let source = ConfigurationSource(
            path: file.path, environment: processEnvironment(), listen: listen.compactMap { Endpoint($0) })
        let loaded = try file.load(from: source)
        let settings = loaded.configuration
        let threshold = LogThreshold(settings.log.level)
        let logger = Logger(label: "httpdnsd") { ThresholdLogHandler(label: $0, threshold: threshold) }
        for warning in loaded.warnings { logger.warning("\(warning)") }
        for server in settings.ownServers {
            printError(
                "\(server) is this server itself: asked there, a question would come back; remove it from the servers")
            throw ExitStatus.configuration.exitCode
        }
        do {
            try Daemon(settings, source: source, threshold: threshold, logger: logger).run()
        } catch {
            logger.critical("\(error)")
            throw ExitStatus.no.exitCode
        }
    }
}
