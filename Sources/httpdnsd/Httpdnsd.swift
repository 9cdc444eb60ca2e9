import ArgumentParser
import Configuration
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
        do {
            var command = try parseAsRoot()
            try command.run()
            // The server's status says how it served.
            if !(command is ServeCommand) { try flushOutput() }
        } catch let error as any CommandError {
            exit(withError: error.exitStatus.exit(error))
        } catch {
            guard exitCode(for: error) != .validationFailure else {
                printError(
                    VisibleText(
                        lines: unknownCommand(CommandLine.arguments.dropFirst().first) ?? fullMessage(for: error)))
                Glibc.exit(ExitStatus.usage.rawValue)
            }
            exit(withError: error)
        }
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

    /// Leaves with status 1 where what was printed could not be written, as on a full disk. A reader that went away has had
    /// enough.
    private static func flushOutput() throws {
        errno = 0
        let isWritten = unsafe fflush(stdout) == 0 && ferror(stdout) == 0
        guard !isWritten, errno != EPIPE else { return }
        guard errno == 0 else { throw SystemError.last("write standard output") }
        throw ExitStatus.no.exit("standard output could not be written")
    }
}
