import Admin
import ArgumentParser
import Configuration
import Platform

/// How commands find the running server, and in which form they answer.
struct ControlOptions: ParsableArguments {
    @OptionGroup var file: ConfigurationFile

    @Option(help: .init("The server's control socket, instead of the one in the configuration.", valueName: "path"))
    var socket: String?

    @Flag(help: "Print JSON, each object on one line.")
    var json = false

    /// The server's control API; leaves with status 78 when the configuration does not tell where it is.
    func client() throws -> ControlClient { ControlClient(socket: try socketPath()) }

    private func socketPath() throws -> String {
        if let socket { return socket }
        let settings: Configuration
        do throws(ConfigurationError) {
            settings = try Configuration.loadTables(["control"], path: file.path, environment: processEnvironment())
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

    /// Asks or tells the server; prints why not, and leaves with status 1, or 2 when the server finds the request wrong.
    func perform<Report: JSONRecord>(
        _ request: (ControlClient) throws(ControlError) -> ControlClient.Reply<Report>
    ) throws -> ControlClient.Reply<Report> {
        let client = try client()
        do throws(ControlError) {
            return try request(client)
        } catch {
            printError(error.text)
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
        if json { return print(reply.text, terminator: "") }
        let text = text(reply.report)
        if !text.isEmpty { print(text) }
    }
}
