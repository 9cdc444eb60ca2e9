import Admin
import ArgumentParser
import Configuration
import DNSWire
import HTTPDNS
import Platform

/// How commands find the running server, and in which form they answer.
struct ControlOptions: ParsableArguments {
    @OptionGroup var file: ConfigurationFile

    @Option(help: .init("The server's control socket, instead of the one in the configuration.", valueName: "path"))
    var socket: String?

    @Flag(help: "Print JSON, each object on one line.")
    var json = false

    @Option(
        help: .init(
            "How long the server may take, such as 500ms or 2m. (default: 5s; reload 30s, cache flush 60s)",
            valueName: "duration"))
    var timeout: String?

    private static let timeouts: ClosedRange<Duration> = .milliseconds(1) ... .seconds(3_600)

    func validate() throws {
        guard let timeout, Configuration.duration(of: timeout).map(Self.timeouts.contains) != true else { return }
        throw ValidationError("--timeout \(timeout): not a duration from 1ms to 1h, such as 500ms, 10s or 2m")
    }

    private func socketPath() throws -> String {
        if let socket { return socket }
        let path = try file.tables(["control"]).control.socket
        guard !path.isEmpty else {
            throw ExitStatus.configuration.exit(
                "\(file.path): control.socket is empty: the server is configured to have no control socket")
        }
        return path
    }

    /// The client of the running server. What it throws ends the command: with status 2 when the server refuses the request as
    /// wrong, else with 1. Leaves with 78 when the configuration has no control socket.
    ///
    /// - Parameter limit: the longest time of a request, unless `--timeout` says another one.
    func client(within limit: Duration = .seconds(5)) throws -> ControlClient {
        let limit = timeout.flatMap { Configuration.duration(of: $0) } ?? limit
        return ControlClient(socket: try socketPath(), timeout: limit)
    }

    /// A part of what the server has cached.
    func page(below suffix: String?, limit: Int, cursor: String?, withRecords: Bool = false) throws -> CacheReport {
        var parameters = [("limit", "\(limit)")]
        if let suffix { parameters.append(("suffix", suffix)) }
        if let cursor { parameters.append(("cursor", cursor)) }
        if withRecords { parameters.append(("records", "true")) }
        return try client().get("/v1/cache", parameters, as: CacheReport.self).report
    }

    /// Prints a reply in the form that was asked for.
    func show<Report: JSONRecord>(_ reply: ControlClient.Reply<Report>, _ text: (Report) -> String) {
        if json { return showDocument(Array(reply.text.utf8)) }
        let text = text(reply.report)
        if !text.isEmpty { httpdnsd.show(VisibleText(lines: text)) }
    }
}

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
        let reply = try control.client(within: .seconds(30)).post("/v1/reload", as: ReloadReport.self)
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

/// `httpdnsd status`: what the running server does.
struct StatusCommand: ParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "status",
        abstract: "Shows what the running server does: providers, LocalDNS, cache, questions under way.")

    @OptionGroup var control: ControlOptions

    func run() throws {
        let reply = try control.client().get("/v1/status", as: StatusReport.self)
        control.show(reply) { $0.text }
    }
}

/// `httpdnsd switch on|off`: HTTPDNS in use or not, without a restart.
struct SwitchCommand: ParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "switch",
        abstract: "Switches HTTPDNS off or on again in the running server.",
        discussion: """
            While HTTPDNS is off, LocalDNS answers every name that HTTPDNS would have answered; [[forward]] entries stay as \
            they are. A reload keeps the switch, and so does a restart.
            """)

    enum State: String, ExpressibleByArgument, CaseIterable {
        case on, off
    }

    @OptionGroup var control: ControlOptions

    @Argument(help: "on or off.")
    var state: State

    func run() throws {
        let reply = try control.client().post("/v1/switch", as: SwitchReport.self) {
            $0.member("switch", state.rawValue)
        }
        control.show(reply) { report in
            report.isOffByPolicy
                ? "HTTPDNS is off by the signed policy, whatever this machine's own switch is (httpdnsd policy show)"
                : report.isOn
                    ? "HTTPDNS is on"
                    : "HTTPDNS is off, until it is switched on\(report.isStored ? "" : " or the server starts again"): names go"
                        + " to LocalDNS"
        }
    }
}

/// `httpdnsd why`: what the running server has of a name, and why.
struct WhyCommand: ParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "why",
        abstract: "Says why the running server answers a name as it does.",
        discussion: """
            A line for what decides about the name, with the line of the configuration; for each type that is cached: \
            route, source, server, state, age and seconds left; for each type that failed last, with the reason; and for \
            each forged address that LocalDNS gave. No source is asked. The same as dig @127.0.0.1 why.NAME CH TXT.
            """)

    @OptionGroup var control: ControlOptions

    @Argument(help: "The name.")
    var name: String

    func validate() throws { try checkName(name) }

    func run() throws {
        let reply = try control.client().get("/v1/why", [("name", name)], as: WhyReport.self)
        control.show(reply) { $0.lines.joined(separator: "\n") }
    }
}
