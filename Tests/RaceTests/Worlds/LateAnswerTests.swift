import DNSResolver
import Testing

/// Worlds in which a client could get no answer, or a late one.
struct LateAnswerTests {
    private let rules = RaceRules(.httpdnsFirst, [.first])
    private let metered = RaceRules.Source(provider: 1, mayHedge: false)

    @Test func `B1: a provider alone that bills is asked at once`() {
        let race = ScriptedRace(
            RaceRules(.httpdnsFirst, [metered]),
            [(0, .joined(1, .a)), (40, .replied(0, a: .records(1), aaaa: nil))])
        #expect(race.asked == [.init(0, 0, .a)])
        #expect(race.replies == [.init(40, 1, .a, .addresses(of: 0))])
    }

    @Test func `B2: a provider that bills is asked as soon as those before it have failed, whatever LocalDNS does`() {
        let race = ScriptedRace(
            RaceRules(.httpdnsFirst, [.first, metered]),
            [
                (0, .joined(1, .a)), (320, .replied(2, a: .records(1), aaaa: .noData)),
                (340, .checked(.a, 0, .verified)),
                (400, .failed(0, .a)), (450, .replied(1, a: .records(1), aaaa: nil)),
            ])
        #expect(race.asked == [.init(0, 0, .a), .init(300, 2, .both), .init(400, 1, .a)])
        #expect(race.replies == [.init(450, 1, .a, .addresses(of: 1))])
    }

    @Test func `B2: a provider in backoff has failed, and the one that bills is asked at once`() {
        let dead = RaceRules.Source(provider: 0, health: .backoff)
        let race = ScriptedRace(
            RaceRules(.httpdnsFirst, [dead, metered]),
            [(0, .joined(1, .a)), (50, .replied(1, a: .records(1), aaaa: nil))])
        #expect(race.asked == [.init(0, 1, .a)])
        #expect(race.replies == [.init(50, 1, .a, .addresses(of: 1))])
    }

    @Test func `B5: beside a probe that hangs LocalDNS is asked at once, and its verified address given by 0.9 s`() {
        let race = ScriptedRace(
            RaceRules(.httpdnsFirst, [RaceRules.Source(provider: 0, health: .probed)]),
            [
                (0, .joined(1, .a)), (20, .replied(1, a: .records(1), aaaa: .noData)), (80, .checked(.a, 0, .verified)),
                (1_800, .probed(0, isUp: false)),
            ])
        #expect(race.asked == [.init(0, 1, .both)])
        #expect(race.replies == [.init(900, 1, .a, .verified(.at(0)))])
    }

    @Test func `B5: a provider that is probed is asked as soon as its probe is answered`() {
        let race = ScriptedRace(
            RaceRules(.httpdnsFirst, [RaceRules.Source(provider: 0, health: .probed)]),
            [(0, .joined(1, .a)), (200, .probed(0, isUp: true)), (240, .replied(0, a: .records(1), aaaa: nil))])
        #expect(race.asked == [.init(0, 1, .both), .init(200, 0, .a)])
        #expect(race.replies == [.init(240, 1, .a, .addresses(of: 0))])
    }

    @Test(arguments: [false, true]) func `B6: a probe that another client's name began holds up and ends no question`(
        isUp: Bool
    ) {
        let race = ScriptedRace(
            rules,
            [
                (0, .joined(1, .a)), (100, .probed(0, isUp: isUp)), (250, .replied(0, a: .records(1), aaaa: nil)),
            ])
        #expect(race.asked == [.init(0, 0, .a)])
        #expect(race.replies == [.init(250, 1, .a, .addresses(of: 0))])
    }

    @Test func `B7: with LocalDNS first the provider is asked as soon as no address can be verified`() {
        let race = ScriptedRace(
            RaceRules(.localDNSFirst, [.first]),
            [
                (0, .joined(1, .a)), (10, .replied(0, a: .records(1), aaaa: .noData)),
                (20, .checked(.a, 0, .unverified)),
                (60, .replied(1, a: .records(1), aaaa: nil)),
            ])
        #expect(race.asked == [.init(0, 0, .both), .init(20, 1, .a)])
        #expect(race.replies == [.init(60, 1, .a, .addresses(of: 1))])
    }

    @Test func `B7: behind LocalDNS the third provider is asked as soon as no address can be verified`() {
        let race = ScriptedRace(
            RaceRules(.httpdnsFirst, [.first, .second, .third]),
            [
                (0, .joined(1, .a)), (5, .failed(0, .a)), (10, .failed(1, .a)),
                (20, .replied(2, a: .records(1), aaaa: .noData)), (30, .checked(.a, 0, .unverified)),
                (70, .replied(3, a: .records(1), aaaa: nil)),
            ])
        #expect(race.asked == [.init(0, 0, .a), .init(5, 1, .a), .init(10, 2, .both), .init(30, 3, .a)])
        #expect(race.replies == [.init(70, 1, .a, .addresses(of: 3))])
    }

    @Test(arguments: [1_900, 1_901, 2_200]) func `B8: a race of more than 1.9 s is joined by no other client`(
        time: Int
    ) {
        let race = ScriptedRace(rules, [(0, .joined(1, .a)), (time, .joined(2, .a))])
        let clients = time > 1_900 ? [1] : [1, 2]
        #expect(race.replies == clients.map { .init(2_300, $0, .a, .serverFailure()) })
        #expect(race.sentAway == (time > 1_900 ? [2] : []))
    }

    @Test(arguments: [false, true]) func `B9: NXDOMAIN of one family is NODATA beside addresses of the other`(
        isLast: Bool
    ) {
        let race = ScriptedRace(
            rules,
            [
                (0, .joined(1, .a)), (0, .joined(2, .aaaa)),
                (30, .replied(0, a: isLast ? .records(1) : nil, aaaa: isLast ? nil : .nxDomain)),
                (60, .replied(0, a: isLast ? nil : .records(1), aaaa: isLast ? .nxDomain : nil)),
            ])
        #expect(
            race.replies == [
                .init(isLast ? 30 : 60, 1, .a, .addresses(of: 0)),
                .init(60, 2, .aaaa, .family(.noData, .provider)),
            ])
    }

    @Test func `B9: NXDOMAIN waits for the other family until 0.9 s`() {
        let race = ScriptedRace(
            rules, [(0, .joined(1, .a)), (0, .joined(2, .aaaa)), (30, .replied(0, a: nil, aaaa: .nxDomain))])
        #expect(race.replies.first == .init(900, 2, .aaaa, RaceAnswer(.provider, .nxDomain, .source(0))))
    }

    @Test func `B10: what a forward server says is of rank 1, and its silence is SERVFAIL at 2.3 s`() {
        let forward = RaceRules(.localDNSOnly, [])
        let answered = ScriptedRace(
            forward, [(0, .joined(1, .a)), (330, .replied(0, a: .records(1), aaaa: .noData))])
        #expect(answered.checks.isEmpty)
        #expect(answered.replies == [.init(330, 1, .a, .addresses(of: 0))])
        let silent = ScriptedRace(forward, [(0, .joined(1, .a))])
        #expect(silent.replies == [.init(2_300, 1, .a, .serverFailure())])
    }

    @Test func `B19: of eight addresses, the first three of which are dead, the fourth is given to a listed name`() {
        let dead = (0..<3).map { (at: 1_530, event: RaceEvent.checked(.a, $0, .unverified)) }
        let race = ScriptedRace(
            RaceRules(.httpdnsFirst, [.first], isListed: true),
            [(0, .joined(1, .a)), (10, .failed(0, .a)), (30, .replied(1, a: .records(8), aaaa: .noData))] + dead
                + [(1_580, .checked(.a, 3, .verified))])
        #expect(race.checks == [RaceAnswer.Addresses(count: 3)] + (3..<7).map { .at($0) })
        // The others are awaited for 0.3 s.
        #expect(race.replies == [.init(1_880, 1, .a, .verified(.at(3)))])
    }

    @Test func `of nine addresses eight are checked, three at a time, and unverified all nine are given`() {
        let verdicts = (0..<8).map { (at: 30, event: RaceEvent.checked(.a, $0, .unverified)) }
        let race = ScriptedRace(
            rules,
            [(0, .joined(1, .a)), (10, .failed(0, .a)), (20, .replied(1, a: .records(9), aaaa: .noData))] + verdicts
                + [(40, .failed(0, .aaaa))])
        #expect(race.checks == [RaceAnswer.Addresses(count: 3)] + (3..<8).map { .at($0) })
        #expect(race.replies == [.init(40, 1, .a, .unverified(RaceAnswer.Addresses(count: 8).union(.further)))])
    }

    @Test func `B20: an answer that expired longer ago than its TTL waits for the provider until 0.9 s`() {
        var rules = rules
        rules.a.stale = RaceRules.Stale(.records, isYoung: false)
        let answered = ScriptedRace(rules, [(0, .joined(1, .a)), (250, .replied(0, a: .records(1), aaaa: nil))])
        #expect(answered.replies == [.init(250, 1, .a, .addresses(of: 0))])
        let silent = ScriptedRace(rules, [(0, .joined(1, .a))])
        #expect(silent.replies == [.init(900, 1, .a, .staleAddresses)])
    }

    @Test func `B21: a stale NXDOMAIN is given only when all have failed`() {
        var rules = RaceRules(.localDNSOnly, [])
        rules.a.stale = RaceRules.Stale(.nxDomain, isYoung: true)
        let answered = ScriptedRace(rules, [(0, .joined(1, .a)), (250, .replied(0, a: .records(1), aaaa: .noData))])
        #expect(answered.replies == [.init(250, 1, .a, .addresses(of: 0))])
        let failed = ScriptedRace(rules, [(0, .joined(1, .a)), (250, .failed(0, .both))])
        #expect(failed.replies == [.init(250, 1, .a, RaceAnswer(.stale, .nxDomain, .stale, life: 5))])
    }

    @Test func `B27: once a stale answer is due a verified one that is known is given instead`() {
        var rules = RaceRules(.httpdnsFirst, [.first, .second])
        rules.a.stale = RaceRules.Stale(.records, isYoung: true)
        let race = ScriptedRace(
            rules,
            [
                (0, .joined(1, .a)), (5, .failed(0, .a)), (20, .busy(1, .a)),
                (40, .replied(2, a: .records(1), aaaa: nil)),
                (100, .checked(.a, 0, .verified)),
            ])
        #expect(race.replies == [.init(200, 1, .a, .verified(.at(0)))])
    }

    @Test func `a client that had waited gets at its end the verified address that waits for 0.9 s`() {
        let race = ScriptedRace(
            rules,
            [
                (0, .joined(1, .a)), (1, .joinedLate(2, .a)), (320, .replied(1, a: .records(1), aaaa: nil)),
                (330, .checked(.a, 0, .verified)), (340, .timeUp(2)), (400, .replied(0, a: .records(1), aaaa: nil)),
            ])
        #expect(race.replies == [.init(340, 2, .a, .verified(.at(0))), .init(400, 1, .a, .addresses(of: 0))])
        #expect(race.stored[.a] == .addresses(of: 0))
    }

    @Test func `a client that had waited gets at its end the NXDOMAIN that waits for the other family`() {
        let race = ScriptedRace(
            rules,
            [
                (0, .joined(1, .a)), (0, .joined(2, .aaaa)), (30, .replied(0, a: nil, aaaa: .nxDomain)),
                (40, .joinedLate(3, .aaaa)), (50, .timeUp(3)), (60, .replied(0, a: .records(1), aaaa: nil)),
            ])
        #expect(
            race.replies == [
                .init(50, 3, .aaaa, RaceAnswer(.provider, .nxDomain, .source(0))),
                .init(60, 1, .a, .addresses(of: 0)), .init(60, 2, .aaaa, .family(.noData, .provider)),
            ])
    }

    @Test func `a client that had waited gets at its end the NXDOMAIN that waits for LocalDNS, for 30 s`() {
        var rules = rules
        rules.isInSearchDomain = true
        let race = ScriptedRace(
            rules,
            [
                (0, .joined(1, .a)), (1, .joinedLate(2, .a)), (30, .replied(0, a: .nxDomain, aaaa: nil)),
                (50, .timeUp(2)), (60, .replied(1, a: .records(1), aaaa: nil)),
            ])
        #expect(
            race.replies == [
                .init(50, 2, .a, RaceAnswer(.provider, .nxDomain, .source(0), life: 30)),
                .init(60, 1, .a, RaceAnswer(.provider, .records, .localDNS(.at(0)), life: 30)),
            ])
    }

    @Test func `a client that had waited gets at its end no family that yields to the other one's addresses`() {
        var rules = rules
        rules.yielding = .a
        let race = ScriptedRace(
            rules,
            [
                (0, .joined(1, .a)), (10, .replied(0, a: nil, aaaa: .noData)), (11, .joinedLate(2, .a)),
                (20, .timeUp(2)), (30, .replied(0, a: .records(1), aaaa: nil)),
            ])
        #expect(race.replies == [.init(20, 2, .a, .serverFailure()), .init(30, 1, .a, .addresses(of: 0))])
        let suppressed = ScriptedRace(
            rules,
            [
                (0, .joined(1, .a)), (320, .replied(1, a: .records(1), aaaa: .records(1))),
                (330, .checked(.aaaa, 0, .verified)), (331, .checked(.a, 0, .verified)), (332, .joinedLate(2, .a)),
                (340, .timeUp(2)),
            ])
        #expect(suppressed.replies.first == .init(340, 2, .a, RaceAnswer(.verified, .noData, .suppressed, life: 30)))
    }

    @Test func `a race goes on after its last client's end, and its answer is stored`() {
        var (stale, preset) = (rules, rules)
        stale.a.stale = RaceRules.Stale(.records, isYoung: false)
        preset.a.preset = .records
        let expected: [(RaceRules, RaceAnswer)] = [
            (stale, .staleAddresses), (preset, RaceAnswer(.preset, .records, .preset, life: 30)),
            (rules, .serverFailure()),
        ]
        for (rules, answer) in expected {
            let race = ScriptedRace(
                rules, [(0, .joinedLate(1, .a)), (5, .timeUp(1)), (50, .replied(0, a: .records(1), aaaa: nil))])
            #expect(race.replies == [.init(5, 1, .a, answer)])
            #expect(race.stored[.a] == .addresses(of: 0))
        }
    }

    @Test func `on a network without IPv4 AAAA is made of A where LocalDNS's own is unverified`() {
        var rules = rules
        rules.translates = true
        let race = ScriptedRace(
            rules,
            [
                (0, .joined(1, .a)), (0, .joined(2, .aaaa)), (320, .replied(1, a: .noData, aaaa: .records(1))),
                (330, .checked(.aaaa, 0, .unverified)), (340, .failed(0, .aaaa)),
                (350, .replied(0, a: .records(1), aaaa: nil)),
            ])
        #expect(
            race.replies == [
                .init(350, 1, .a, .addresses(of: 0)),
                .init(350, 2, .aaaa, RaceAnswer(.unproved, .records, .translation)),
            ])
    }
}
