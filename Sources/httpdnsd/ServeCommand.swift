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
        let loaded = try file.load()
        var settings = loaded.configuration
        if !listen.isEmpty { settings.listen.addresses = listen.compactMap { Endpoint($0) } }
        let logger = Self.logger(settings.log)
        for warning in loaded.warnings { logger.warning("\(warning)") }
        for server in settings.ownServers {
            printError(
                "\(server) is this server itself: asked there, a question would come back; remove it from the servers")
            throw ExitStatus.configuration.exitCode
        }
        do {
            try Daemon(settings, logger: logger).run()
        } catch {
            logger.critical("\(error)")
            throw ExitStatus.no.exitCode
        }
    }

    private static func logger(_ settings: Configuration.LogSettings) -> Logger {
        var logger = Logger(label: "httpdnsd") { StreamLogHandler.standardError(label: $0) }
        logger.logLevel = Logger.Level(rawValue: settings.level.rawValue) ?? .info
        return logger
    }
}
