import Admin
import Configuration
import Platform

/// What a running server says of itself to `doctor` and `check`: what it is, what it asks, and what is wrong by its own report.
///
/// It travels as rows, each of which begins with a word. Rows of unknown words are passed over, and what is missing is empty.
struct Testimony: Sendable {
    let rows: [[String]]

    /// As the server says it.
    init(rows: [[String]]) { self.rows = rows }

    /// - Parameter findings: what is wrong by the report, each with the subject of its check.
    init(_ status: StatusReport, findings: [(subject: String, finding: Finding)]) {
        var rows = [
            ["version", status.version], ["config", status.configuration], ["pid", "\(status.pid)"],
            ["shared", status.shared.state.rawValue],
        ]
        rows += status.listen.map { ["listen", $0] }
        rows += status.reloadErrors.map { ["reload-error", $0] }
        rows += status.localDNS.map { ["localdns", $0.address] }
        rows += status.providers.map { ["provider", $0.name] + $0.addresses.map(\.address) }
        let failures = [status.cache.fileError] + status.providers.flatMap(\.addresses).compactMap(\.lastError)
        rows += failures.filter { !$0.isEmpty }.map { ["failure", $0] }
        rows += findings.map { subject, finding in
            [
                "finding", subject, finding.provider, finding.key, finding.severity.rawValue, finding.sentence,
                finding.remedy,
            ]
        }
        self.rows = rows
    }

    /// What stands behind a word, in each of its rows.
    private func said(_ word: String) -> [[String]] {
        rows.filter { $0.first == word }.map { Array($0.dropFirst()) }
    }

    private func words(_ word: String) -> [String] { said(word).compactMap(\.first) }

    var version: String { words("version").first ?? "" }
    /// The path of its configuration.
    var configuration: String { words("config").first ?? "" }
    var pid: Int? { words("pid").first.flatMap { Int($0) } }
    var listen: [AddressAndPort] { words("listen").compactMap { AddressAndPort($0) } }
    /// Why the last reload was refused; empty when it was not.
    var reloadErrors: [String] { words("reload-error") }
    /// Whether the next look-up in the shared cache is a probe.
    var isSharedDue: Bool { words("shared") == [StatusReport.State.probeDue.rawValue] }
    /// Why files and addresses could not be used last.
    var failures: [String] { words("failure") }
    /// The servers of LocalDNS.
    var localDNS: [String] { words("localdns") }
    /// The addresses of all providers.
    var providerAddresses: [String] { said("provider").flatMap { $0.dropFirst() } }

    /// The addresses of a provider; nil where the server has none of that name.
    func addresses(of provider: String) -> [String]? {
        said("provider").first { $0.first == provider }.map { Array($0.dropFirst()) }
    }

    /// What is wrong, as a check says it.
    func found(by check: String) -> [Finding] {
        said("finding").compactMap { cells in
            guard cells.count == 6, cells[0] == check, let severity = Finding.Severity(rawValue: cells[3]) else {
                return nil
            }
            return Finding(cells[2], severity, cells[4], mend: cells[5], of: cells[1])
        }
    }
}

/// The server that runs with a configuration file, as a reader of that: it may read less than a command of root's, and has the
/// environment of its start.
struct RunningReader: Sendable {
    /// What it would say to a reload.
    private let report: [[String]]

    /// Asks it. Nil where no server of this version runs with the file.
    ///
    /// - Parameters:
    ///   - path: of the configuration file.
    ///   - socket: the path of the control socket.
    ///   - patience: the most time for each of two requests.
    init?(of path: String, at socket: String, within patience: Duration = .seconds(2)) {
        let client = ControlClient(socket: socket, timeout: patience)
        guard !socket.isEmpty, let server = try? client.testimony(), server.configuration == path,
            server.version == Release.version, let reply = try? client.get("/v1/reload", as: .rows)
        else { return nil }
        report = reply.rows
    }

    /// - Parameter report: the rows of a `ReloadReport`.
    init(_ report: [[String]]) { self.report = report }

    private func lines(_ word: String) -> [String] {
        report.filter { $0.count == 2 && $0[0] == word }.map { $0[1] }
    }

    private var isMendedByRestart: Bool { report.contains(["restart-mends"]) }

    /// Why its next start fails; nil where it does not.
    var refusal: ConfigurationRefusal? {
        let errors = lines("error")
        guard !errors.isEmpty, !isMendedByRestart else { return nil }
        return ConfigurationRefusal(lines: errors + [Self.advice], warnings: lines("warning"))
    }

    /// Why a reload is refused although a start is not; empty where it is taken.
    var outdated: [String] { isMendedByRestart ? lines("error") : [] }

    static let advice =
        "so the running server reads it, which may read less than root: `chmod 644` for what is no secret, else LoadCredential= in its unit (Documentation/Operations.md)"
}

extension ControlClient {
    /// What the server says of itself.
    func testimony() throws(ControlError) -> Testimony { Testimony(rows: try get("/v1/status", as: .rows).rows) }
}
