import Admin
import ArgumentParser
import Configuration
import DNSResolver
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
        if socket?.isEmpty == true { throw ValidationError("--socket: must name the control socket") }
        guard let timeout, Configuration.duration(of: timeout).map(Self.timeouts.contains) != true else { return }
        throw ValidationError("--timeout \(timeout): not a duration from 1ms to 1h, such as 500ms, 10s or 2m")
    }

    /// The client of the running server. What it throws ends the command: with status 2 when the server refuses the request as
    /// wrong, else with 1. Leaves with 78 when the configuration has no control socket.
    ///
    /// - Parameter limit: the longest time of a request, unless `--timeout` says another one.
    func client(within limit: Duration = .seconds(5)) throws -> ControlClient {
        let path = try socket ?? file.tables(["control"]).control.socket
        guard !path.isEmpty else {
            throw CommandFailure(
                "\(file.path): control.socket is empty: the server is configured to have no control socket",
                exitCode: .configuration)
        }
        return ControlClient(
            socket: path, timeout: timeout.flatMap { Configuration.duration(of: $0) } ?? limit)
    }

    /// The form that was asked for.
    var form: ReportForm { json ? .json : .text }

    /// Asks the running server, prints what it replies, and leaves with the status that it says.
    func run(_ path: String, _ parameters: [(String, String)] = []) throws {
        try end(with: try client().get(path, parameters, as: form))
    }

    /// The same for a request that changes something.
    func change(
        _ path: String, within limit: Duration = .seconds(5), _ members: (inout JSONWriter) -> Void = { _ in }
    ) throws {
        try end(with: try client(within: limit).post(path, as: form, members))
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

    func run() throws { try control.change("/v1/reload", within: .seconds(30)) }
}

/// `httpdnsd status`: what the running server does.
struct StatusCommand: ParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "status",
        abstract: "Shows what the running server does: providers, LocalDNS, cache, questions under way.")

    @OptionGroup var control: ControlOptions

    func run() throws { try control.run("/v1/status") }
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

    func run() throws { try control.change("/v1/switch") { $0.member("switch", state.rawValue) } }
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

    func run() throws { try control.run("/v1/why", [("name", name)]) }
}

/// `httpdnsd badip`: addresses that users have found bad.
struct BadIPCommand: ParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "badip",
        abstract: "Reports addresses that do not work; answers then list them last.",
        discussion: """
            A reported address moves to the end of every answer that has other addresses; it is never left out. Cached \
            answers with it are forgotten. A report loses half its weight with every third of its duration; reports of the \
            same address add up.
            """,
        subcommands: [Add.self, Remove.self, List.self], defaultSubcommand: List.self)
}

extension BadIPCommand {
    /// `httpdnsd badip add ADDRESS [--for DURATION]`
    struct Add: ParsableCommand {
        static let configuration = CommandConfiguration(commandName: "add", abstract: "Reports an address as bad.")

        @OptionGroup var control: ControlOptions

        @Argument(help: "The IPv4 or IPv6 address.")
        var address: String

        @Option(
            name: .customLong("for"),
            help: .init("How long one report counts, such as 90s, 30m or 12h.", valueName: "duration"))
        var duration = "30m"

        private var seconds: Int64? {
            guard let lifetime = Configuration.duration(of: duration), BadAddresses.lifetimes.contains(lifetime),
                lifetime.components.attoseconds == 0
            else { return nil }
            return lifetime.components.seconds
        }

        func validate() throws {
            try checkAddress(address)
            guard seconds != nil else {
                throw ValidationError(
                    "--for \(duration): not a duration from 1s to 30d in whole seconds, such as 90s, 30m or 12h")
            }
        }

        func run() throws {
            try control.change("/v1/badips/add") { writer in
                writer.member("address", address)
                writer.member("seconds", seconds)
            }
        }
    }

    /// `httpdnsd badip remove ADDRESS`
    struct Remove: ParsableCommand {
        static let configuration = CommandConfiguration(commandName: "remove", abstract: "Takes the reports back.")

        @OptionGroup var control: ControlOptions

        @Argument(help: "The IPv4 or IPv6 address.")
        var address: String

        func validate() throws { try checkAddress(address) }

        func run() throws { try control.change("/v1/badips/remove") { $0.member("address", address) } }
    }

    /// `httpdnsd badip list`
    struct List: ParsableCommand {
        static let configuration = CommandConfiguration(
            commandName: "list", abstract: "Lists the reported addresses, the worst first.")

        @OptionGroup var control: ControlOptions

        func run() throws { try control.run("/v1/badips") }
    }
}

/// Refuses text that is no IP address.
private func checkAddress(_ text: String) throws {
    if IPAddress(text) == nil { throw ValidationError("\(text): not an IP address") }
}
