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
            Exit status: 0 when `serve` would serve, with warnings of what will not work; 78 when the configuration has a \
            mistake.
            """)

    @OptionGroup var file: ConfigurationFile

    @Flag(help: "Print one JSON object, errors and warnings in it.")
    var json = false

    func run() throws {
        let source = file.sourceOfService()
        let loaded: LoadedConfiguration
        do throws(ConfigurationRefusal) {
            loaded = try source.check()
        } catch {
            if json {
                show(
                    VisibleText(lines: CheckReport.json(errors: error.lines, warnings: error.warnings, file: file.path))
                )
            } else {
                for warning in error.warnings { printError("warning: \(warning)") }
                for line in error.lines { printError("\(line)") }
            }
            throw ExitStatus.configuration.exitCode
        }
        let report = CheckReport(
            loaded.configuration, file: file.path, warnings: loaded.warnings.map(\.description))
        if json { return show(VisibleText(lines: report.json)) }
        for line in report.warningLines { printError("\(line)") }
        show(VisibleText(lines: report.text))
    }
}
