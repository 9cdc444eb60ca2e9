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
            traffic: (queries, failed, stale))
    }

    private func keys(_ verdict: Verdict) -> [String] { verdict.causes.map(\.finding.key) }

    @Test(
        arguments: [
            (0, 0, 0, .green), (1, 0, 0, .green), (1_000, 0, 0, .green),
            // One failure in a hundred is none, more than one in ten is bad, unless it is a chance of few queries.
            (100, 1, 0, .green), (99, 1, 0, .amber), (1_000, 11, 0, .amber), (1, 1, 0, .amber), (2, 2, 0, .amber),
            (30, 3, 0, .amber), (29, 3, 0, .red), (3, 3, 0, .red), (1_000, 101, 0, .red),
            // Stale answers are answers.
            (100, 0, 1, .green), (99, 0, 1, .amber), (50, 0, 50, .amber),
        ] as [(Int, Int, Int, Verdict.Level)])
    func `what clients got decides, by its share and its number`(
        queries: Int, failed: Int, stale: Int, level: Verdict.Level
    ) {
        let verdict = verdict(queries: queries, failed: failed, stale: stale)
        #expect(verdict.level == level && verdict.causes.isEmpty == (level == .green))
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

    @Test(arguments: [
        ("no source", "`httpdnsd doctor`"), ("stopping", "`systemctl start httpdnsd` once it has stopped"),
    ])
    func `a server that no source can answer is red, and says why; one that stops needs no doctor`(
        reason: String, remedy: String
    ) {
        let verdict = verdict(unreadiness: reason)
        #expect(verdict.level == .red && keys(verdict) == ["server.unready"])
        #expect(verdict.causes[0].finding.sentence.hasSuffix(": \(reason)"))
        #expect(verdict.causes[0].finding.remedy == remedy)
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
