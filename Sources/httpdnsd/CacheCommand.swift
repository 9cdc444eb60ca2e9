import Admin
import ArgumentParser
import DNSWire
import HTTPDNS

/// `httpdnsd cache`: what the running server has in its cache.
struct CacheCommand: ParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "cache", abstract: "Lists, shows and forgets what the running server has cached.",
        subcommands: [List.self, Show.self, Flush.self])
}

extension CacheCommand {
    /// `httpdnsd cache list [SUFFIX]`
    struct List: ParsableCommand {
        static let configuration = CommandConfiguration(
            commandName: "list", abstract: "Lists cached answers: name, type, addresses, seconds left, age and source.")

        @OptionGroup var control: ControlOptions

        @Argument(help: "Only names below this one, and itself.")
        var suffix: String?

        @Option(help: "List so many answers at most; 0 lists all.")
        var limit = 100

        func validate() throws {
            if limit < 0 { throw ValidationError("--limit \(limit): must not be negative") }
            if let suffix { try checkName(suffix) }
        }

        func run() throws {
            var all = CacheReport()
            repeat {
                let left = limit == 0 ? 1_000 : limit - all.entries.count
                var parameters = [("limit", "\(min(left, 1_000))")]
                if let suffix { parameters.append(("suffix", suffix)) }
                if let cursor = all.next { parameters.append(("cursor", cursor)) }
                let reply = try control.perform { client throws(ControlError) in
                    try client.get("/v1/cache", parameters, as: CacheReport.self)
                }
                all.entries += reply.report.entries
                all.next = reply.report.next
            } while all.next != nil && (limit == 0 || all.entries.count < limit)
            all.entries.sort { ($0.name, $0.type) < ($1.name, $1.type) }
            if control.json { return print(all.json) }
            let text = all.listText
            if !text.isEmpty { print(text) }
            if all.next != nil { printError("there are more; --limit 0 lists all") }
        }
    }

    /// `httpdnsd cache show NAME`
    struct Show: ParsableCommand {
        static let configuration = CommandConfiguration(
            commandName: "show", abstract: "Shows everything cached under one name, with all records.")

        @OptionGroup var control: ControlOptions

        @Argument(help: "The name.")
        var name: String

        func validate() throws { try checkName(name) }

        func run() throws {
            let reply = try control.perform { client throws(ControlError) in
                try client.get("/v1/cache/entry", [("name", name)], as: CacheReport.self)
            }
            control.show(reply) { $0.showText }
            guard !reply.report.entries.isEmpty else {
                if !control.json { printError("nothing is cached under \(name)") }
                throw ExitStatus.no.exitCode
            }
        }
    }

    /// `httpdnsd cache flush NAME | --suffix SUFFIX | --all`
    struct Flush: ParsableCommand {
        static let configuration = CommandConfiguration(
            commandName: "flush", abstract: "Forgets cached answers of a name, of all names below one, or all.")

        @OptionGroup var control: ControlOptions

        @Argument(help: "The name; every type of it is forgotten.")
        var name: String?

        @Option(help: "Forget this name and all below it.")
        var suffix: String?

        @Flag(help: "Forget everything.")
        var all = false

        func validate() throws {
            let given = [name != nil, suffix != nil, all].count { $0 }
            if given != 1 { throw ValidationError("Name what to forget: a NAME, or --suffix SUFFIX, or --all.") }
            if let name { try checkName(name) }
            if let suffix { try checkName(suffix) }
        }

        func run() throws {
            let reply = try control.perform { client throws(ControlError) in
                try client.post("/v1/cache/flush", as: FlushReport.self) { writer in
                    if let name { writer.member("name", name) }
                    if let suffix { writer.member("suffix", suffix) }
                    if all { writer.member("all", true) }
                }
            }
            control.show(reply) { "\($0.removed) answer\($0.removed == 1 ? "" : "s") forgotten" }
        }
    }
}

/// Refuses text that is no domain name.
func checkName(_ text: String) throws {
    do throws(NameError) {
        _ = try Name(text)
    } catch {
        throw ValidationError("\(text): not a name: \(error)")
    }
}
