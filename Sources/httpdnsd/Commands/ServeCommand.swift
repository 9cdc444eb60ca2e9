import ArgumentParser
import Configuration
import DNSServer
import DNSWire
import HTTPDNS
import Platform

/// `httpdnsd serve`: the daemon.
struct ServeCommand: ParsableCommand {
    static let configuration = CommandConfiguration(commandName: "serve", abstract: "Serves DNS (the default command).")

    @OptionGroup var file: ConfigurationFile

    @Option(
        name: .customLong("listen"),
        help: .init("Listen here instead, such as 127.0.0.1:5353; may be repeated.", valueName: "address"))
    var listen: [String] = []

    @Flag(
        name: .customLong("no-sandbox"),
        help: "Keep capabilities, and the rights to write files and to execute programs, after the start.")
    var hasNoSandbox = false

    @Flag(
        help: """
            Take over from the server that runs with this configuration's control socket: its sockets, its connections \
            and the queries that it has not answered. It serves until the new one does, and no query is lost.
            """)
    var replace = false

    func validate() throws {
        for text in listen where AddressAndPort(text) == nil {
            throw ValidationError("--listen \(text): not an address with a port, such as 127.0.0.1:53 or [::1]:53")
        }
    }

    func run() throws {
        let source = ConfigurationSource(
            path: file.path, variables: file.ownVariables, listen: listen.compactMap { AddressAndPort($0) })
        let loaded = try source.load(isStart: true)
        let settings = loaded.configuration
        // Before any thread starts, for threads inherit the mask.
        Signal.block()
        MappingLimits().shareMemory()
        TLSContext.prepareMemory()
        let log = try logOutput(settings.log, journalStream: source.variables.process["JOURNAL_STREAM"])
        defer { log.finish(within: .seconds(1)) }
        for warning in loaded.warnings { log.logger.log(.configurationWarning, "\(warning)") }
        let problems = settings.loopProblems + settings.certificateProblems
        for problem in problems { printError("\(problem)") }
        if !problems.isEmpty { throw ExitStatus.configuration.exitCode }
        if replace, settings.control.socket.isEmpty {
            throw ExitStatus.configuration.exit("--replace needs a control socket, and control.socket is empty")
        }
        do {
            try Daemon(settings, source: source, replaces: replace, isSandboxed: !hasNoSandbox, log: log).run()
        } catch {
            log.logger.log(.startFailed, "\(error)")
            throw ExitStatus.no.exitCode
        }
    }

    private func logOutput(_ settings: Configuration.LogSettings, journalStream: String?) throws -> LogOutput {
        do throws(SystemError) {
            return try LogOutput(settings.format, level: settings.level, journalStream: journalStream)
        } catch {
            throw ExitStatus.no.exit("no log can be written: \(error)")
        }
    }
}
