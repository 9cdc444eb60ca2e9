import Admin

/// The server that runs with a configuration file, as a reader of that: it may read less than a command of root's, and has the
/// environment of its start.
struct RunningReader: Sendable {
    /// What it would say to a reload.
    private let report: ReloadReport

    /// Asks it. Nil where no server of this version runs with the file.
    ///
    /// - Parameters:
    ///   - path: of the configuration file.
    ///   - socket: the path of the control socket.
    ///   - patience: the most time for each of two requests.
    init?(of path: String, at socket: String, within patience: Duration = .seconds(2)) {
        let client = ControlClient(socket: socket, timeout: patience)
        guard !socket.isEmpty, let status = try? client.get("/v1/status", as: StatusReport.self).report,
            status.configuration == path, status.version == Release.version,
            let report = try? client.get("/v1/reload", as: ReloadReport.self).report
        else { return nil }
        self.report = report
    }

    init(_ report: ReloadReport) { self.report = report }

    /// Why its next start fails; nil where it does not.
    var refusal: ConfigurationRefusal? {
        guard !report.errors.isEmpty, !report.isMendedByRestart else { return nil }
        return ConfigurationRefusal(lines: report.errors + [Self.advice], warnings: report.warnings)
    }

    /// Why a reload is refused although a start is not; empty where it is taken.
    var outdated: [String] { report.isMendedByRestart ? report.errors : [] }

    static let advice =
        "so the running server reads it, which may read less than root: `chmod 644` for what is no secret, else LoadCredential= in its unit (Documentation/Operations.md)"
}
