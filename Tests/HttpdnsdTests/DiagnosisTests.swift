import Admin
import Foundation
import Testing

@testable import httpdnsd

struct DiagnosisTests {
    private static let finding = Finding("port.held", .error, "the port is held by\u{1b}[31m dnsmasq", mend: "stop it")
    private static let good = Check(subject: "good", well: "all is well") { _ in [] }
    private static let bad = Check(subject: "bad", well: "") { _ in [finding] }
    private static let unknown = Check(subject: "secrets", well: "") { _ in nil }

    @Test func `every check has a line, and a finding another one for what mends it`() throws {
        let diagnosis = try Diagnosis(Patient().examination, [Self.good, Self.bad, Self.unknown])
        #expect(
            diagnosis.text.split(separator: "\n") == [
                "ok  good     all is well", "!   bad      the port is held by\\x1b[31m dnsmasq",
                "               stop it", "-   unknown  what only the server can say: secrets",
            ])
        #expect(!diagnosis.isWell)
    }

    @Test func `a warning has another mark, and not all is well`() throws {
        let warned = Check(subject: "warned", well: "") { _ in
            [Finding("a.b", .warning, "a reserve is missing", mend: "c")]
        }
        let diagnosis = try Diagnosis(Patient().examination, [Self.good, warned])
        #expect(diagnosis.text.contains("~   warned  a reserve is missing\n"))
        #expect(!diagnosis.isWell)
    }

    @Test func `a remedy of several findings is shown once`() throws {
        let twice = Check(subject: "twice", well: "") { _ in [Self.finding, Self.finding] }
        #expect(try Diagnosis(Patient().examination, [twice]).text.split(separator: "\n").count == 3)
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

    @Test func `no subject is used twice`() {
        let subjects = Check.all.map(\.subject)
        #expect(Set(subjects).count == subjects.count)
    }
}
