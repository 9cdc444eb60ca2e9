import DNSResolver

/// What is decided before a race begins, and what may happen in it: one search visits every state of it.
struct World {
    typealias Source = RaceRules.Source

    /// What a check of an address may show.
    typealias Verdict = AddressVerdict

    var name = ""
    var providers: [Source]
    var mode = RaceRules.Mode.httpdnsFirst
    var check = RaceRules.CertificateCheck.auto
    var isListed = false
    var isUnverified = false
    var isClockWrong = false
    var isInSearchDomain = false
    var translates = false
    /// The family that is suppressed where the other one has addresses.
    var yielding: RacePart?
    var localHealth = RaceRules.Health.usable
    /// Of A.
    var stale: RaceRules.Stale?
    var cached: RaceRules.Cached?
    /// Whether the preset of last resort has an address for A, and so NODATA for AAAA.
    var hasPreset = false

    /// The types that clients ask for at 0, and at any time.
    var first: [RacePart] = [.a]
    var later: [RacePart] = []
    /// When something may happen, in milliseconds.
    var times = [0, 100, 200, 300, 500, 600, 800, 900, 1200, 1800, 1900, 2200, 2300]
    /// What a provider may say, and what else may happen to a question there.
    var replies: [RaceReply] = [.records(1), .empty]
    var troubles: Set<Trouble> = [.fails, .busy]
    /// What LocalDNS may say; nil: it fails.
    var localReplies: [RaceReply?] = [.records(1), .noData, .nxDomain, nil]
    var verdicts: [Verdict] = [.verified, .forged, .unverified]
    /// Whether later clients may have waited, and the time of any may be over.
    var hasLate = false
    var change: Change?

    enum Trouble: Hashable { case fails, refuses, busy }

    enum Change: Hashable { case policy, network }

    init(_ providers: [Source]) { self.providers = providers }

    /// Whether LocalDNS's unproved answers may be given.
    var isUnlisted: Bool {
        isUnverified || check == .lenient || check == .off || check == .auto && !isListed
    }

    /// Whether anything can come of the other family.
    var types: Set<RacePart> { replies.contains(.empty) ? [.a, .aaaa] : Set(first + later) }

    /// The rules of the race, with what is known at the beginning or after a change.
    func rules(stale: [RacePart: RaceRules.Stale], cached: [RacePart: RaceRules.Cached]) -> RaceRules {
        var rules = RaceRules(
            mode, providers, localDNS: Source(provider: nil, answersBoth: true, health: localHealth), check: check,
            isListed: isListed, isUnverified: isUnverified)
        rules.isClockWrong = isClockWrong
        rules.isInSearchDomain = isInSearchDomain
        rules.translates = translates
        rules.yielding = yielding
        rules.a = RaceRules.Known(stale: stale[.a], cached: cached[.a], preset: hasPreset ? .records : nil)
        rules.aaaa = RaceRules.Known(stale: stale[.aaaa], cached: cached[.aaaa], preset: hasPreset ? .noData : nil)
        return rules
    }

    var rules: RaceRules {
        rules(stale: stale.map { [.a: $0] } ?? [:], cached: cached.map { [.a: $0] } ?? [:])
    }
}
