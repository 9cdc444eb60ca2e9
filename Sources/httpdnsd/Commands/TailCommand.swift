import Admin
import ArgumentParser
import Configuration
import DNSResolver
import DNSWire
import Glibc
import HTTPDNS
import Platform

/// `httpdnsd tail`: the queries of the running server as they are answered.
struct TailCommand: ParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "tail",
        abstract: "Shows queries as the running server answers them, until Ctrl-C.",
        discussion: """
            A line for each query: time, client, transport, name, type, response code, route, time taken, source. Only \
            queries that fulfil all of the options are shown. What comes faster than it is read is left out, and a line says \
            how many queries are missing; the server never waits.

            Who asks what is personal data: show no more of it than you need.

            Exit status 1 when the server ends, or ends this because nothing was read for 10 s while queries were left out.
            """)

    @OptionGroup var control: ControlOptions

    @Argument(help: "Only this name and those below it.")
    var suffix: String?

    @Option(help: .init("Only this client: an address, or a network such as 192.0.2.0/24.", valueName: "address"))
    var client: String?

    @Option(
        help: .init(
            "Only answers from there: \(sources.joined(separator: ", ")), or a provider by its name.",
            valueName: "source"),
        completion: .list(sources))
    var source: String?

    @Option(help: .init("Only queries that took longer, such as 100ms; at most 1m.", valueName: "duration"))
    var slower: String?

    private static let sources = AnswerKind.allCases.map(\.word)
    private static let durations: ClosedRange<Duration> = .zero ... .seconds(60)

    func validate() throws {
        if let suffix { try checkName(suffix) }
        if let client, AddressPrefix(client) == nil {
            throw ValidationError("--client \(client): not an address, or a network such as 192.0.2.0/24")
        }
        if let slower, milliseconds == nil {
            throw ValidationError(
                "--slower \(slower): not a duration up to 1m in whole milliseconds, such as 100ms or 2s")
        }
    }

    /// `slower` in milliseconds, which is what the server takes; nil for what is none.
    private var milliseconds: Int? {
        guard let duration = slower.flatMap({ Configuration.duration(of: $0) }), Self.durations.contains(duration)
        else { return nil }
        let whole = Int(duration / .milliseconds(1))
        return duration == .milliseconds(whole) ? whole : nil
    }

    func run() throws {
        let filters = [
            ("suffix", suffix), ("client", client), ("source", source), ("slower_ms", milliseconds.map(String.init)),
        ]
        var end: Result<Void, SystemError>?
        var reason = "it stops, or closed the longest idle of too many connections"
        let client = try control.client()
        // Whether the server answers at all has a time limit.
        _ = try client.get("/v1/status", as: .text)
        let parameters = filters.compactMap { key, value in value.map { (key, $0) } }
        try client.follow("/v1/queries", parameters, as: control.json ? .objects : .text) { line in
            reason = QueryReport.reasonOfEnd(in: line) ?? reason
            end = Self.write(VisibleText(line))
            return end == nil
        }
        if let end { return try end.get() }
        throw CommandFailure("the server has ended the stream: \(reason)")
    }

    /// Writes to standard output at once, however slowly it is read.
    ///
    /// - Returns: nil when it was written; success where it is read no more.
    private static func write(_ line: VisibleText) -> Result<Void, SystemError>? {
        var rest = Array("\(line)\n".utf8)
        while !rest.isEmpty {
            let count = unsafe Glibc.write(STDOUT_FILENO, rest, rest.count)
            if count < 0, errno == EINTR { continue }
            if count < 0 { return errno == EPIPE ? .success(()) : .failure(.last("write standard output")) }
            rest.removeFirst(count)
        }
        return nil
    }
}
