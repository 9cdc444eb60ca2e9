import Admin
import ArgumentParser
import Configuration
import HTTPDNS
import Platform

/// `httpdnsd check`: reads the configuration and says what it would do.
struct CheckCommand: ParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "check",
        abstract: "Checks the configuration and shows what it means.",
        discussion: """
            Where a server runs with this file, it is asked whether it could take the file too: it may not read all that \
            root may. Exit status: 0 when `serve` would serve, with warnings of what will not work; 78 when the \
            configuration has a mistake, or the server that runs can read less of it.
            """)

    @OptionGroup var file: ConfigurationFile

    @Flag(help: "Ask each provider for one name, and warn of those that do not answer.")
    var ask = false

    @Flag(help: "Print one JSON object, errors and warnings in it.")
    var json = false

    func run() throws {
        let source = file.sourceOfService()
        let (loaded, reload): (LoadedConfiguration, Testimony?)
        do throws(ConfigurationRefusal) {
            loaded = try source.check()
            let socket = loaded.configuration.control.socket
            reload = ControlClient(socket: socket, timeout: .seconds(2)).reload(of: file.path)
            if let refusal = reload?.refusal { throw refusal }
        } catch {
            let object = CheckReport.json(errors: error.lines, warnings: error.warnings, file: file.path)
            let lines = error.warnings.map { "warning: \($0)" } + error.lines
            return try end(
                with: CommandOutput(
                    json ? object : "", remarks: json ? [] : lines, exitStatus: ExitCode.configuration.rawValue))
        }
        let report = CheckReport(
            loaded.configuration, file: file.path,
            warnings: loaded.warnings.map(\.description)
                + (reload?.outdated.map { "the running server does not take this at a reload: \($0)" } ?? [])
                + (ask ? try silentProviders(loaded.configuration) : []))
        show(json ? CommandOutput(report.json) : CommandOutput(report.text, remarks: report.warningLines))
    }

    /// A warning for each provider that does not answer a question.
    private func silentProviders(_ settings: Configuration) throws(SystemError) -> [String] {
        let questions = try SourceVisit.outcome(
            of: settings, asking: settings.providers, asksShared: false, within: .seconds(2)
        ).questions
        return settings.providers.compactMap { provider in
            (questions[provider.name] ?? nil).map { "provider \(provider.name) does not answer: \($0)" }
        }
    }
}
