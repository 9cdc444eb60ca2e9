import Admin
import ArgumentParser
import Configuration
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
        let settings: Configuration
        do throws(ConfigurationError) {
            settings = try Configuration.loadTables(["control"], path: file.path, file.variables)
        } catch {
            for diagnostic in error.diagnostics { printError("\(diagnostic)") }
            throw ExitStatus.configuration.exitCode
        }
        guard !settings.control.socket.isEmpty else {
            printError("\(file.path): control.socket is empty: the server is configured to have no control socket")
            throw ExitStatus.configuration.exitCode
        }
        return settings.control.socket
    }

    /// Sends a request to the server; prints why that failed, and leaves with status 1, with 2 when the server refuses the
    /// request as wrong, and with 78 when the configuration has no control socket.
    ///
    /// - Parameter limit: the longest time of each request, unless `--timeout` says another one.
    func perform<Report: JSONRecord>(
        within limit: Duration = .seconds(5),
        _ request: (ControlClient) throws(ControlError) -> ControlClient.Reply<Report>
    ) throws -> ControlClient.Reply<Report> {
        try send(within: limit, request)
    }

    /// Sends a GET request whose response has no end; else as `perform`. That the server answers at all is asked before, which
    /// has a time limit.
    ///
    /// - Parameter take: called with each line as it comes; returns false to end it.
    func follow(
        _ path: String, _ parameters: [(String, String)], _ take: @escaping ([UInt8]) -> Bool
    ) throws {
        try send(within: .seconds(5)) { client throws(ControlError) in
            _ = try client.get("/v1/status", as: StatusReport.self)
            try client.follow(path, parameters, take)
        }
    }

    private func send<Result>(
        within limit: Duration, _ request: (ControlClient) throws(ControlError) -> Result
    ) throws -> Result {
        let limit = timeout.flatMap { Configuration.duration(of: $0) } ?? limit
        let client = ControlClient(socket: try socketPath(), timeout: limit)
        do throws(ControlError) {
            return try request(client)
        } catch {
            printError("\(error.text)")
            throw error.status == 400 ? ExitStatus.usage.exitCode : ExitStatus.no.exitCode
        }
    }

    /// A part of what the server has cached.
    func page(below suffix: String?, limit: Int, cursor: String?, withRecords: Bool = false) throws -> CacheReport {
        var parameters = [("limit", "\(limit)")]
        if let suffix { parameters.append(("suffix", suffix)) }
        if let cursor { parameters.append(("cursor", cursor)) }
        if withRecords { parameters.append(("records", "true")) }
        return try perform { client throws(ControlError) in
            try client.get("/v1/cache", parameters, as: CacheReport.self)
        }.report
    }

    /// Prints a reply in the form that was asked for.
    func show<Report: JSONRecord>(_ reply: ControlClient.Reply<Report>, _ text: (Report) -> String) {
        if json { return showDocument(Array(reply.text.utf8)) }
        let text = text(reply.report)
        if !text.isEmpty { httpdnsd.show(VisibleText(lines: text)) }
    }
}
