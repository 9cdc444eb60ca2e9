import Admin
import ArgumentParser
import Configuration
import DNSResolver
import DNSWire
import HTTPDNS

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
        static let configuration = CommandConfiguration(abstract: "Reports an address as bad.")

        @OptionGroup var control: ControlOptions

        @Argument(help: "The IPv4 or IPv6 address.")
        var address: String

        @Option(
            name: .customLong("for"),
            help: .init("How long one report counts, such as 90s, 30m or 12h.", valueName: "duration"))
        var duration = "30m"

        private var seconds: Int64? {
            guard let lifetime = Configuration.duration(of: duration), BadAddresses.lifetimes.contains(lifetime) else {
                return nil
            }
            return lifetime.components.seconds
        }

        func validate() throws {
            try checkAddress(address)
            guard seconds != nil else {
                throw ValidationError("--for \(duration): not a duration from 1s to 30d, such as 90s, 30m or 12h")
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
        static let configuration = CommandConfiguration(abstract: "Takes the reports back.")

        @OptionGroup var control: ControlOptions

        @Argument(help: "The IPv4 or IPv6 address.")
        var address: String

        func validate() throws { try checkAddress(address) }

        func run() throws { try control.change("/v1/badips/remove") { $0.member("address", address) } }
    }

    /// `httpdnsd badip list`
    struct List: ParsableCommand {
        static let configuration = CommandConfiguration(
            abstract: "Lists the reported addresses, the worst first.")

        @OptionGroup var control: ControlOptions

        func run() throws { try control.run("/v1/badips") }
    }
}

/// Refuses text that is no IP address.
private func checkAddress(_ text: String) throws {
    if IPAddress(text) == nil { throw ValidationError("\(text): not an IP address") }
}
