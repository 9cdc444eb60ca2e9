import Testing

@testable import Admin

/// What the page says first.
struct VerdictTests {
    private static let warning = Finding("clock.wrong", .error, "the clock is wrong", mend: "`timedatectl`")

    /// One provider that is asked.
    private static var well: StatusReport {
        var (status, provider, address) = (StatusReport(), StatusReport.Provider(), StatusReport.Address())
        (provider.name, address.address) = ("vendor", "192.0.2.1:443")
        provider.addresses = [address]
        status.providers = [provider]
        return status
    }

    private static var cutOff: StatusReport {
        var status = well
        status.providers[0].addresses[0].state = .inBackoff
        return status
    }

    private func verdict(
        unreadiness: String? = nil, _ status: StatusReport = well, findings: [Finding] = [], queries: Int = 0,
        failed: Int = 0, stale: Int = 0
    ) -> Verdict {
        Verdict(
            unreadiness: unreadiness, status: status, findings: findings,
            traffic: .init(queries: queries, failed: failed, stale: stale))
    }

    private func keys(_ verdict: Verdict) -> [String] { verdict.causes.map(\.finding.key) }

    @Test func `a server that answers, and in which nothing is found wrong, is green`() {
        for queries in [0, 1, 1_000] {
            let verdict = verdict(queries: queries)
            #expect(verdict.level == .green && verdict.causes.isEmpty, "\(queries) queries")
        }
    }

    @Test func `one failure in a hundred is green, and more never is`() {
        #expect(verdict(queries: 100, failed: 1).level == .green)
        for (queries, failed) in [(99, 1), (1_000, 11), (1, 1), (30, 3)] {
            #expect(verdict(queries: queries, failed: failed).level == .amber, "\(failed) of \(queries)")
        }
    }

    @Test func `more than one failure in ten is red, unless it is a chance of few queries`() {
        for (queries, failed) in [(29, 3), (3, 3), (1_000, 101)] {
            #expect(verdict(queries: queries, failed: failed).level == .red, "\(failed) of \(queries)")
        }
        #expect(verdict(queries: 2, failed: 2).level == .amber)
    }

    @Test func `more than one stale answer in a hundred is amber, and all of them are too`() {
        #expect(verdict(queries: 100, stale: 1).level == .green)
        for (queries, stale) in [(99, 1), (50, 50)] {
            #expect(verdict(queries: queries, stale: stale).level == .amber, "\(stale) of \(queries)")
        }
    }

    @Test func `failures and stale answers are shown with their share and their number`() throws {
        let causes = verdict(queries: 500, failed: 21, stale: 300).causes
        #expect(causes.map { String($0.finding.sentence.prefix(12)) } == ["4.2 % (21 of", "60.0 % (300 "])
        #expect(causes.allSatisfy { $0.finding.remedy.contains("`httpdnsd ") })
    }

    @Test func `no provider that can be reached is red`() {
        let verdict = verdict(Self.cutOff)
        #expect(verdict.level == .red && keys(verdict) == ["providers.none"])
    }

    @Test func `a provider that is not needed need not be reached`() {
        var (off, local) = (Self.cutOff, Self.cutOff)
        off.isOn = false
        local.mode = "localdns-only"
        for status in [off, local, StatusReport()] { #expect(verdict(status).level == .green) }
    }

    @Test func `one provider of two is enough to be asked, and its finding alone is amber`() {
        var status = Self.cutOff
        status.providers += Self.well.providers
        #expect(verdict(status).level == .green)
        #expect(verdict(status, findings: [Self.warning]).level == .amber)
    }

    @Test func `a server that no source can answer is red, and says why`() {
        let verdict = verdict(unreadiness: "no source")
        #expect(verdict.level == .red && keys(verdict) == ["server.unready"])
        #expect(verdict.causes[0].finding.sentence.hasSuffix(": no source"))
        #expect(verdict.causes[0].finding.remedy == "`httpdnsd doctor`")
    }

    @Test func `what stops is started again, and needs no doctor`() {
        #expect(verdict(unreadiness: "stopping").causes[0].finding.remedy.contains("systemctl start"))
    }

    @Test func `the red causes come first, and the others in their order`() {
        let other = Finding("disk.unused", .warning, "no file", mend: "mkdir")
        #expect(
            keys(verdict(Self.cutOff, findings: [Self.warning, other], queries: 9, stale: 9))
                == ["providers.none", "answers.stale", "clock.wrong", "disk.unused"])
    }

    @Test func `a forged answer that was found is what the server is for`() {
        let forged = Finding("localdns.forged", .warning, "forged", mend: "")
        #expect(verdict(findings: [forged]).level == .green)
    }
}
