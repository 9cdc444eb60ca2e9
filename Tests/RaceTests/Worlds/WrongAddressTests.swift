import DNSResolver
import Testing

/// Worlds in which a client could get a wrong address.
struct WrongAddressTests {
    private let rules = RaceRules(.httpdnsFirst, [.first])

    @Test(arguments: [40, 20]) func `A1: a family that fails is NODATA while the provider has addresses of the other`(
        failure: Int
    ) {
        let race = ScriptedRace(
            rules,
            [
                (0, .joined(1, .a)), (0, .joined(2, .aaaa)), (failure, .failed(0, .aaaa)),
                (60, .replied(1, a: nil, aaaa: .records(1))), (70, .checked(.aaaa, 0, .unverified)),
                (90, .replied(0, a: .records(1), aaaa: nil)),
            ])
        #expect(race.replies == [.init(90, 1, .a, .addresses(of: 0)), .init(90, 2, .aaaa, .family(.noData))])
    }

    @Test func `A2: a family that fails takes the other's NXDOMAIN, not LocalDNS's address`() {
        let race = ScriptedRace(
            rules,
            [
                (0, .joined(1, .a)), (0, .joined(2, .aaaa)), (20, .failed(0, .aaaa)),
                (30, .replied(0, a: .nxDomain, aaaa: nil)), (60, .replied(1, a: nil, aaaa: .records(1))),
                (70, .checked(.aaaa, 0, .unverified)),
            ])
        // NXDOMAIN waits for the family that is under way.
        #expect(
            race.replies == [
                .init(70, 1, .a, RaceAnswer(.provider, .nxDomain, .source(0))),
                .init(70, 2, .aaaa, .family(.nxDomain)),
            ])
    }

    @Test func `A3: where AAAA alone is asked and fails, A is asked for before LocalDNS's address is given`() {
        let race = ScriptedRace(
            rules,
            [
                (0, .joined(1, .aaaa)), (20, .failed(0, .aaaa)), (40, .replied(1, a: .noData, aaaa: .records(1))),
                (50, .checked(.aaaa, 0, .unverified)), (80, .replied(0, a: .records(1), aaaa: nil)),
            ])
        #expect(race.asked == [.init(0, 0, .aaaa), .init(20, 1, .both), .init(50, 0, .a)])
        #expect(race.replies == [.init(80, 1, .aaaa, .family(.noData))])
    }

    @Test(arguments: [false, true])
    func `A6: with certificate_check off LocalDNS's address comes before no provider and no stale answer`(
        isStale: Bool
    ) {
        var rules = RaceRules(.httpdnsFirst, [.first], check: .off)
        if isStale { rules.a.stale = RaceRules.Stale(.records, isYoung: false) }
        let race = ScriptedRace(
            rules,
            [
                (0, .joined(1, .a)), (320, .replied(1, a: .records(1), aaaa: nil)),
                (1_200, .replied(0, a: .records(1), aaaa: nil)),
            ])
        #expect(race.checks.isEmpty)
        #expect(
            race.replies == [
                isStale ? .init(900, 1, .a, .staleAddresses) : .init(1_200, 1, .a, .addresses(of: 0))
            ])
        #expect(race.stored[.a] == .addresses(of: 0))
    }

    @Test func `A10: a client that had waited gets no unverified address at its end, its neighbour the provider's`() {
        let race = ScriptedRace(
            rules,
            [
                (0, .joined(1, .a)), (1, .joinedLate(2, .a)), (320, .replied(1, a: .records(1), aaaa: nil)),
                (330, .checked(.a, 0, .unverified)), (340, .timeUp(2)), (400, .replied(0, a: .records(1), aaaa: nil)),
            ])
        #expect(race.replies == [.init(340, 2, .a, .serverFailure()), .init(400, 1, .a, .addresses(of: 0))])
    }

    @Test func `A10: nor what is made of an unverified denial of the other family, while a source is awaited`() {
        for part in [RacePart.a, .aaaa] {
            let race = ScriptedRace(
                rules,
                [
                    (0, .joined(1, .a)), (0, .joined(2, .aaaa)), (5, .joinedLate(3, part)), (10, .failed(0, .aaaa)),
                    (20, .replied(1, a: nil, aaaa: .nxDomain)), (21, .failed(1, .a)), (30, .timeUp(3)),
                    (40, .replied(0, a: .records(1), aaaa: nil)),
                ])
            #expect(
                race.replies == [
                    .init(30, 3, part, .serverFailure()), .init(40, 1, .a, .addresses(of: 0)),
                    .init(40, 2, .aaaa, .family(.noData)),
                ])
        }
    }

    @Test func `A10: what it gets is not stored`() {
        var (stale, preset) = (rules, rules)
        stale.a.stale = RaceRules.Stale(.records, isYoung: false)
        preset.a.preset = .records
        for rules in [stale, preset, rules] {
            let race = ScriptedRace(rules, [(0, .joined(1, .a)), (1, .joinedLate(2, .a)), (5, .timeUp(2))], until: 100)
            #expect(race.replies.map(\.client) == [2])
            #expect(race.stored.isEmpty)
        }
    }

    @Test func `A15: an answer with another's address and a silent one is thrown away whole`() {
        let race = ScriptedRace(
            rules,
            [
                (0, .joined(1, .a)), (10, .failed(0, .both)), (30, .replied(1, a: .records(2), aaaa: .noData)),
                (80, .checked(.a, 0, .forged)), (1_530, .checked(.a, 1, .unverified)), (1_600, .failed(0, .aaaa)),
            ])
        #expect(race.checks == [RaceAnswer.Addresses(count: 2)])
        #expect(race.replies == [.init(1_600, 1, .a, .serverFailure(isForged: true))])
    }
}
