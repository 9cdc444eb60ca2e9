import Admin
import ArgumentParser
import DNSWire

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
        let reply = try control.perform { client throws(ControlError) in
            try client.get("/v1/why", [("name", name)], as: WhyReport.self)
        }
        control.show(reply) { $0.lines.joined(separator: "\n") }
    }
}
