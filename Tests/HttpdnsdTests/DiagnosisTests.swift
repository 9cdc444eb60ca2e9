import Admin
import Foundation
import Testing

@testable import httpdnsd

struct DiagnosisTests {
    private static let finding = Finding("port.held", .error, "the port is held by\u{1b}[31m dnsmasq", mend: "stop it")
    private static let good = Check(subject: "good", well: "all is well") { _ in [] }
    private static let bad = Check(subject: "bad", well: "") { _ in [finding] }
    private static let unknown = Check(subject: "secrets", well: "") { _ in nil }

    @Test func `the first line counts, findings come first, and each has a line for what mends it`() throws {
        let diagnosis = try Diagnosis(Patient().examination, [Self.good, Self.bad, Self.unknown])
        #expect(
            diagnosis.text.split(separator: "\n") == [
                "1 problem", "!   bad      the port is held by\\x1b[31m dnsmasq", "               stop it",
                "ok  good     all is well", "-   unknown  what cannot be said now: secrets",
            ])
        #expect(!diagnosis.isWell)
    }

    @Test func `a warning has another mark, and not all is well`() throws {
        let warned = Check(subject: "warned", well: "") { _ in
            [Finding("a.b", .warning, "a reserve is missing", mend: "c")]
        }
        let diagnosis = try Diagnosis(Patient().examination, [Self.good, warned])
        #expect(diagnosis.text.hasPrefix("1 warning\n~   warned  a reserve is missing\n"))
        #expect(!diagnosis.isWell)
    }

    @Test func `problems come before warnings, and both are counted`() throws {
        let both = Check(subject: "both", well: "") { _ in
            [Finding("a.b", .warning, "a reserve is missing", mend: "c"), Self.finding]
        }
        let lines = try Diagnosis(Patient().examination, [both, Self.bad]).text.split(separator: "\n")
        #expect(lines.first == "2 problems, 1 warning")
        #expect(lines.dropFirst().map { $0.first } == ["!", "!", " ", "~", " "])
        #expect(try Diagnosis(Patient().examination, [Self.good]).text.hasPrefix("all is well\nok  good"))
    }

    @Test func `a remedy of several findings is shown once`() throws {
        let twice = Check(subject: "twice", well: "") { _ in [Self.finding, Self.finding] }
        #expect(try Diagnosis(Patient().examination, [twice]).text.split(separator: "\n").count == 4)
    }

    @Test func `what cannot be known is no finding`() throws {
        #expect(try Diagnosis(Patient().examination, [Self.good, Self.unknown]).isWell)
    }

    @Test func `a check that hangs is a finding, and does not hold the others up`() throws {
        let hanging = Check(subject: "hanging", well: "") { _ in
            while true { sleep(60) }
        }
        let diagnosis = try Diagnosis(Patient().examination, [hanging, Self.bad])
        #expect(diagnosis.outcomes.map { $0.findings?.map(\.key) } == [["check.late"], ["port.held"]])
    }

    @Test func `in JSON each check has what it found, and whether it could be made`() throws {
        let json = try Diagnosis(Patient().examination, [Self.good, Self.bad, Self.unknown]).json
        let report = try JSONSerialization.jsonObject(with: Data(json.utf8)) as? [String: Any]
        let checks = try #require(report?["checks"] as? [[String: Any]])
        #expect(report?["well"] as? Bool == false)
        #expect(checks.map { $0["check"] as? String } == ["good", "bad", "secrets"])
        #expect(checks.map { $0["made"] as? Bool } == [true, true, false])
        #expect(checks.map { ($0["findings"] as? [[String: Any]])?.count } == [0, 1, 0])
    }

    @Test func `no subject is used twice`() {
        let subjects = Check.all.map(\.subject)
        #expect(Set(subjects).count == subjects.count)
    }
}
