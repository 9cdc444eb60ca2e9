import Admin
import ArgumentParser
import Configuration
import HTTPDNS
import Platform

/// One thing that `doctor` looks at. It only reads.
struct Check: Sendable {
    /// The word in front of its lines.
    let subject: String
    /// What is so when nothing is found.
    let well: String
    /// What is wrong; nil where it cannot be known, as from a server that does not run.
    let findings: @Sendable (Examination) -> [Finding]?
    /// The part of it that the running server's own report shows, where that reaches an address by a route of its machine.
    var reported: @Sendable (StatusReport, (SocketAddress) -> Bool) -> [Finding] = { _, _ in [] }

    /// All, in the order in which they are shown: what explains the most comes first.
    static let all = [
        configuration, port, control, reload, route, programs, lookups, lookupOrder, httpdnsSwitch, providers,
        transport, localDNS,
        loop, forgeries, network, clock, diskCache, diskSpace, sharedCache, policy, descriptors, memory, authorities,
        appArmor,
    ]

    /// One that looks at what the running server reports.
    static func ofStatus(
        _ subject: String, well: String, _ findings: @escaping @Sendable (StatusReport) -> [Finding]
    ) -> Check {
        Check(
            subject: subject, well: well, findings: { $0.report?.found(by: subject) },
            reported: { status, _ in findings(status) })
    }
}

extension Testimony {
    /// - Parameter hasRoute: whether the address of a provider is reached by a route of this machine, or needs none.
    init(_ status: StatusReport, _ hasRoute: (SocketAddress) -> Bool) {
        rows = [["version", status.version], ["config", status.configuration], ["pid", "\(status.pid)"]]
        rows += status.listen.map { ["listen", $0] }
        rows += status.reloadErrors.map { ["reload-error", $0] }
        rows += status.localDNS.map { ["localdns", $0.address] }
        rows += status.providers.map { ["provider", $0.name] + $0.addresses.map(\.address) }
        let failures = [status.cache.fileError] + status.providers.flatMap(\.addresses).compactMap(\.lastError)
        rows += failures.filter { !$0.isEmpty }.map { ["failure", $0] }
        for check in Check.all {
            rows += check.reported(status, hasRoute).map { finding in
                [
                    "finding", check.subject, finding.provider, finding.key, finding.severity.rawValue,
                    finding.sentence, finding.remedy,
                ]
            }
        }
    }
}

/// The outcome of checks: what `httpdnsd doctor` shows, as text or as one JSON object.
struct Diagnosis {
    /// How long all checks together may take; they run at the same time.
    private static let patience = Duration.seconds(2)

    /// One check, and what it found; nil: it could not be made.
    typealias Outcome = (check: Check, findings: [Finding]?)

    let outcomes: [Outcome]
}

extension Diagnosis {
    /// Makes the checks.
    init(_ examination: Examination, _ checks: [Check] = Check.all) throws(SystemError) {
        let deadline = ContinuousClock.now + Self.patience
        var work: [(Check, BoundedWork<[Finding]?>)] = []
        for check in checks { work.append((check, try BoundedWork { check.findings(examination) })) }
        outcomes = work.map { check, work in (check, work.value(by: deadline) ?? [.late]) }
    }

    var isWell: Bool { outcomes.allSatisfy { $0.findings?.isEmpty ?? true } }

    /// One line that counts; then a line for each finding and one for each remedy, errors first; a line for each check that found
    /// nothing, and one for those that cannot be made.
    var text: String {
        var rows: [[String]] = []
        let found = outcomes.flatMap { check, findings in (findings ?? []).map { (subject: check.subject, finding: $0) }
        }
        for severity in [Finding.Severity.error, .warning] {
            let found = found.filter { $0.finding.severity == severity }
            for (index, (subject, finding)) in found.enumerated() {
                rows.append([severity == .error ? "!" : "~", subject, finding.sentence])
                let isRepeated = found.dropFirst(index + 1).first?.finding.remedy == finding.remedy
                if !isRepeated { rows.append(["", "", "  " + finding.remedy]) }
            }
        }
        for (check, findings) in outcomes where findings?.isEmpty == true {
            rows.append(["ok", check.subject, check.well])
        }
        let unknown = outcomes.filter { $0.findings == nil }.map(\.check.subject)
        if !unknown.isEmpty {
            rows.append(["-", "unknown", "what cannot be said now: \(unknown.joined(separator: ", "))"])
        }
        return summary + "\n" + rows.tableText
    }

    /// `2 problems, 1 warning`.
    private var summary: String {
        let severities = outcomes.flatMap { $0.findings ?? [] }.map(\.severity)
        let (errors, warnings) = (severities.count { $0 == .error }, severities.count { $0 == .warning })
        let counts = [(errors, "problem"), (warnings, "warning")].filter { $0.0 > 0 }
        return counts.isEmpty ? "all is well" : counts.map { counted($0, $1) }.joined(separator: ", ")
    }

    /// Documented in Documentation/Control.md.
    var json: String {
        JSONWriter.object { writer in
            writer.member("well", isWell)
            writer.member("checks", objects: outcomes) { outcome, writer in
                writer.member("check", outcome.check.subject)
                writer.member("made", outcome.findings != nil)
                writer.member("findings", outcome.findings ?? [])
            }
        }
    }
}

extension Finding {
    /// For a check that did not end in time.
    fileprivate static var late: Finding {
        Finding(
            "check.late", .error, "this check did not end in time: a file system or a program hangs",
            mend: "`mount` shows file systems of other machines; try again")
    }
}

/// `httpdnsd doctor`: what is wrong on this machine, and what mends it.
struct DoctorCommand: ParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "doctor",
        abstract: "Finds what is wrong on this machine, and says what mends it.",
        discussion: """
            Looks at the configuration, the port and the program that holds it, the files by which programs find this \
            server, what the running server says of its sources and of the network, the shared cache, and the machine's \
            limits, and asks each provider for one name, which is one call there (not with --offline). Only reads, but \
            for one value in the shared cache that it removes again, and ends within 9 seconds. As root it sees more. \
            Exit status: 0 when all is well, 1 when something is found, be it a warning, 78 when the configuration has a \
            mistake.
            """)

    /// How long reading the configuration may take.
    private static let patience = Duration.seconds(2)

    @OptionGroup var file: ConfigurationFile

    @Flag(help: "Do not ask the providers.")
    var offline = false

    @Flag(help: "Print one JSON object.")
    var json = false

    func run() throws {
        let reading = try BoundedWork { [file] in
            Result { () throws(ConfigurationRefusal) in try file.sourceOfService().check() }
        }
        let diagnosis: Diagnosis
        var status = ExitCode.configuration
        switch reading.value(by: .now + Self.patience) {
        case .success(let loaded):
            var examination = Examination(file: file.path, loaded: loaded)
            try examination.ask(offline: offline)
            diagnosis = try Diagnosis(examination)
            status = diagnosis.isWell ? .success : .no
        case .failure(let refusal): diagnosis = Diagnosis(refused: refusal.lines, file: file.path)
        case nil: diagnosis = Diagnosis(refused: ["\(file.path): cannot be read in time"], file: file.path)
        }
        show(VisibleText(lines: json ? diagnosis.json : diagnosis.text))
        if status != .success { throw status }
    }
}

extension Diagnosis {
    /// That of a configuration that is not taken, without which no other check can be made.
    fileprivate init(refused lines: [String], file: String) {
        self.init(outcomes: [
            (
                Check.configuration,
                lines.map {
                    Finding(
                        "config.refused", .error, $0,
                        mend: "correct the line; \(Examination.command("check", of: file)) shows all")
                }
            )
        ])
    }
}
