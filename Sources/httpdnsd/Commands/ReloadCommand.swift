import Admin
import ArgumentParser
import HTTPDNS

/// `httpdnsd reload`: the configuration is read again.
struct ReloadCommand: ParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "reload",
        abstract: "Makes the running server read its configuration again.",
        discussion: """
            A file with a mistake changes nothing: its errors are printed as `check` prints them, and the exit status is 78. \
            Listeners, UDP threads, the user, the control socket, control.http, limits.memory, the cache file and the dnstap \
            collector change only at a restart; the command says if one of them differs. SIGHUP does the same.
            """)

    @OptionGroup var control: ControlOptions

    func run() throws {
        let reply = try control.perform(within: .seconds(30)) { client throws(ControlError) in
            try client.post("/v1/reload", accepted: [200, 422], as: ReloadReport.self)
        }
        let report = reply.report
        if !control.json {
            for line in report.errors { printError("\(line)") }
            for line in report.warnings { printError("warning: \(line)") }
            for key in report.restartNeeded {
                printError("warning: \(key) has changed: it takes effect at the next start")
            }
        }
        control.show(reply) { $0.errors.isEmpty ? "the configuration is taken" : "" }
        if !report.errors.isEmpty { throw ExitStatus.configuration.exitCode }
    }
}
