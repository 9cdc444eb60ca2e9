import Admin
import HTTPDNS
import Platform

/// The outcome of checks: what `httpdnsd doctor` shows, as text or as one JSON object.
struct Diagnosis {
    /// How long all checks together may take; they run at the same time.
    private static let patience = Duration.seconds(2)

    /// One check, and what it found; nil: it could not be made.
    typealias Outcome = (check: Check, findings: [Finding]?)

    let outcomes: [Outcome]

    init(_ outcomes: [Outcome]) { self.outcomes = outcomes }

    /// Makes the checks.
    init(_ examination: Examination, _ checks: [Check] = Check.all) throws(SystemError) {
        let deadline = ContinuousClock.now + Self.patience
        var work: [(Check, BoundedWork<[Finding]?>)] = []
        for check in checks { work.append((check, try BoundedWork { check.findings(examination) })) }
        outcomes = work.map { check, work in (check, work.value(by: deadline) ?? [.late]) }
    }

    var isWell: Bool { outcomes.allSatisfy { $0.findings?.isEmpty ?? true } }

    /// A line for each check or finding, one for each remedy, and one for the checks that cannot be made.
    var text: String {
        var rows: [[String]] = []
        for (check, findings) in outcomes {
            guard let findings else { continue }
            if findings.isEmpty { rows.append(["ok", check.subject, check.well]) }
            for (index, finding) in findings.enumerated() {
                rows.append([finding.severity == .error ? "!" : "~", check.subject, finding.sentence])
                let isRepeated = findings.dropFirst(index + 1).first?.remedy == finding.remedy
                if !isRepeated { rows.append(["", "", "  " + finding.remedy]) }
            }
        }
        let unknown = outcomes.filter { $0.findings == nil }.map(\.check.subject)
        if !unknown.isEmpty {
            rows.append(["-", "unknown", "what only the server can say: \(unknown.joined(separator: ", "))"])
        }
        return StatusReport.lines(rows)
    }

    /// Documented in Documentation/Control.md.
    var json: String {
        JSONWriter.object { writer in
            writer.member("well", isWell)
            writer.member(
                "checks",
                array: { writer in
                    for (check, findings) in outcomes {
                        writer.object { writer in
                            writer.member("check", check.subject)
                            writer.member("made", findings != nil)
                            writer.member(
                                "findings",
                                array: { writer in
                                    for finding in findings ?? [] { writer.object { finding.write(to: &$0) } }
                                })
                        }
                    }
                })
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
