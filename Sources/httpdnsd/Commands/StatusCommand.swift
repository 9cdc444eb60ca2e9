import Admin
import ArgumentParser

/// `httpdnsd status`: what the running server does.
struct StatusCommand: ParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "status",
        abstract: "Shows what the running server does: providers, LocalDNS, cache, questions under way.")

    @OptionGroup var control: ControlOptions

    func run() throws {
        let reply = try control.perform { client throws(ControlError) in
            try client.get("/v1/status", as: StatusReport.self)
        }
        control.show(reply) { $0.text }
    }
}
