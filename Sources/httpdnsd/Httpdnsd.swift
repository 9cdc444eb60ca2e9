import ArgumentParser
import Configuration
import DNSServer
import DNSWire
import HTTPDNS
import Platform

@preconcurrency @unsafe import Glibc

/// The command line: `serve` unless another command is named.
@main
struct Httpdnsd: ParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "httpdnsd",
        abstract: "A DNS server for machines whose own resolver is hijacked: it asks HTTPDNS services instead.",
        discussion: """
            Exit status: 0 done, 1 no (no answer, port taken), 2 wrong usage, 78 wrong configuration.
            """,
        version: "httpdnsd \(Release.version)",
        subcommands: [
            ServeCommand.self, CheckCommand.self, QueryCommand.self, StatusCommand.self, WhyCommand.self,
            TailCommand.self, CacheCommand.self, SwitchCommand.self, BadIPCommand.self, ReloadCommand.self,
            PolicyCommand.self, DoctorCommand.self, HealthcheckCommand.self, ResolverCommand.self,
            ProfileCommand.self,
        ],
        defaultSubcommand: ServeCommand.self)

    static func main() {
        // Before any command reads a secret.
        forbidCoreDumps()
        openStandardStreams()
        unblockStandardStreams()
        let arguments = processArguments()
        if arguments.first == "help", let text = unknownCommand(arguments.dropFirst().first) {
            printError(VisibleText(lines: text))
            Glibc.exit(ExitCode.usage.rawValue)
        }
        do {
            var command = try parseAsRoot(arguments)
            try command.run()
            // The server's status says how it served.
            if !(command is ServeCommand) { leave(with: ExitCode.success) }
        } catch let error as any CommandError {
            leave(with: error.printed())
        } catch {
            guard exitCode(for: error) != .validationFailure else {
                printError(
                    VisibleText(
                        lines: unknownCommand(arguments.first) ?? fullMessage(for: error)))
                Glibc.exit(ExitCode.usage.rawValue)
            }
            leave(with: error)
        }
    }

    /// Prints what a command has ended with, and leaves with its status: with 1 where what was printed is lost.
    private static func leave(with end: any Error) -> Never {
        var end = end
        let text = fullMessage(for: end)
        if exitCode(for: end) == .success, !text.isEmpty {
            showDocument(Array((text + "\n").utf8))
            end = ExitCode.success
        }
        if let fault = outputFault { end = fault.printed() }
        exit(withError: end)
    }

    /// What is said where the first argument is a word that is no command; nil where it is not so.
    private static func unknownCommand(_ word: String?) -> String? {
        let known = configuration.subcommands.map { $0._commandName } + ["help"]
        guard let word, !word.hasPrefix("-"), !known.contains(word) else { return nil }
        let hint =
            nearest(to: word, among: known).map { "did you mean \($0)?" }
            ?? "there are \(known.joined(separator: ", "))"
        return "httpdnsd: there is no command \(word); \(hint)"
    }

    /// Why what was printed could not be written, as on a full disk. A reader that went away has had enough.
    private static var outputFault: (any CommandError)? {
        errno = 0
        let isWritten = unsafe fflush(stdout) == 0 && ferror(stdout) == 0
        guard !isWritten, errno != EPIPE else { return nil }
        if errno != 0 { return SystemError.last("write standard output") }
        return CommandFailure("standard output could not be written")
    }
}

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
        let addresses = listen.compactMap { AddressAndPort($0) }
        for (index, address) in addresses.enumerated() where addresses[..<index].contains(where: address.overlaps) {
            throw ValidationError("--listen \(address) overlaps another --listen: leave out one of them")
        }
    }

    func run() throws {
        // Before any thread starts, for threads inherit the mask; and a signal to reload comes at any time.
        Signal.block()
        let source = ConfigurationSource(
            path: file.path, variables: file.ownVariables, listen: listen.compactMap { AddressAndPort($0) })
        let loaded = try source.load(isStart: true)
        let settings = loaded.configuration
        MappingLimits().shareMemory()
        TLSContext.prepareMemory()
        let log = try logOutput(settings.log, journalStream: source.variables.process["JOURNAL_STREAM"])
        defer { log.finish(within: .seconds(1)) }
        for warning in loaded.warnings { log.logger.log(.configurationWarning, "\(warning)") }
        let problems =
            settings.loopProblems + settings.certificateProblems + (geteuid() == 0 ? settings.userProblems : [])
        if !problems.isEmpty { throw CommandFailure(problems, exitCode: .configuration) }
        if replace, settings.control.socket.isEmpty {
            throw CommandFailure(
                "--replace needs a control socket, and control.socket is empty", exitCode: .configuration)
        }
        do {
            try Daemon(settings, source: source, replaces: replace, isSandboxed: !hasNoSandbox, log: log).run()
        } catch {
            log.logger.log(.startFailed, "\(error)")
            throw ExitCode.no
        }
    }

    private func logOutput(_ settings: Configuration.LogSettings, journalStream: String?) throws -> LogOutput {
        do throws(SystemError) {
            return try LogOutput(settings.format, level: settings.level, journalStream: journalStream)
        } catch {
            throw CommandFailure("no log can be written: \(error)")
        }
    }
}
