import Admin
import ArgumentParser
import HTTPDNS

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
        let reply = try control.perform { client throws(ControlError) in
            try client.post("/v1/switch", as: SwitchReport.self) { $0.member("switch", state.rawValue) }
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
