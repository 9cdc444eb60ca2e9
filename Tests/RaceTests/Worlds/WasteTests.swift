import DNSResolver
import Testing

/// Worlds in which questions could be asked for nothing.
struct WasteTests {
    private let localFirst = RaceRules(.localDNSFirst, [.first])

    @Test func `a race for a family that yields ends with the preferred one`() {
        var rules = localFirst
        rules.yielding = .a
        let race = ScriptedRace(
            rules,
            [
                (0, .joined(1, .a)), (20, .replied(0, a: .records(1), aaaa: .records(1))),
                (30, .checked(.aaaa, 0, .verified)),
            ], until: 30)
        #expect(race.replies == [.init(30, 1, .a, RaceAnswer(.verified, .noData, .suppressed, life: 600))])
        #expect(!race.isRunning)
    }

    @Test(arguments: [RacePart.a, .aaaa])
    func `a family that yields is asked of the first provider after 0.3 s, also when LocalDNS is then asked for both`(
        yielding: RacePart
    ) {
        var rules = RaceRules(.httpdnsFirst, [.first])
        rules.yielding = yielding
        let race = ScriptedRace(rules, [(0, .joined(1, yielding)), (300, .time)], until: 300)
        #expect(race.asked.first { $0.place == 0 && $0.parts == RaceParts(yielding) }?.at == 300)
        #expect(race.asked.first { $0.place == 1 } == .init(300, 1, .both))
    }

    @Test func `a family that yields waits 0.3 s from the beginning, whenever the other one was asked`() {
        var rules = RaceRules(.httpdnsOnly, [RaceRules.Source(provider: 0, health: .probed)])
        rules.yielding = .aaaa
        let race = ScriptedRace(rules, [(0, .joined(1, .aaaa)), (100, .probed(0, isUp: true))], until: 300)
        #expect(race.asked == [.init(100, 0, .a), .init(300, 0, .aaaa)])
    }

    @Test func `C1: after the first provider's answer no other source is asked`() {
        let race = ScriptedRace(
            RaceRules(.httpdnsFirst, [.first, .second, .third]),
            [(0, .joined(1, .a)), (50, .replied(0, a: .records(1), aaaa: nil)), (300, .time), (2_300, .time)])
        #expect(race.asked == [.init(0, 0, .a)])
        #expect(race.replies == [.init(50, 1, .a, .addresses(of: 0))])
    }

    @Test(arguments: [RaceEvent.refused(0, .a), .replied(0, a: .empty, aaaa: nil)])
    func `what a provider has refused, or has nothing for, it is not asked at its second address`(event: RaceEvent) {
        let race = ScriptedRace(
            RaceRules(.httpdnsFirst, [RaceRules.Source(provider: 0, addresses: 2)]),
            [(0, .joined(1, .a)), (50, event), (60, .failed(0, .aaaa)), (300, .time), (2_300, .time)])
        #expect(race.asked.filter { $0.parts.contains(.a) }.map(\.place) == [0, 2])
    }

    @Test func `C3: A, and AAAA right after it, are one question to a provider that returns both`() {
        let race = ScriptedRace(
            RaceRules(.httpdnsFirst, [RaceRules.Source(provider: 0, answersBoth: true)]),
            [
                (0, .joined(1, .a)), (1, .joined(2, .aaaa)),
                (40, .replied(0, a: .records(1), aaaa: .records(1))),
            ])
        #expect(race.asked == [.init(0, 0, .both)])
        #expect(race.replies == [.init(40, 1, .a, .addresses(of: 0)), .init(40, 2, .aaaa, .addresses(of: 0))])
    }

    @Test(arguments: [false, true])
    func `C4: a provider that bills and takes 0.35 s is asked once, and at its other address if it fails`(fails: Bool) {
        let metered = RaceRules.Source(provider: 0, mayHedge: false, addresses: 2)
        let race = ScriptedRace(
            RaceRules(.httpdnsFirst, [metered]),
            [
                (0, .joined(1, .a)), (350, fails ? .failed(0, .a) : .replied(0, a: .records(1), aaaa: nil)),
                (390, .replied(1, a: .records(1), aaaa: nil)),
            ])
        let asked: [ScriptedRace.Ask] = [.init(0, 0, .a), .init(300, 2, .both)]
        #expect(race.asked == asked + (fails ? [.init(350, 1, .a, address: 1)] : []))
        #expect(
            race.replies == [
                fails ? .init(390, 1, .a, .addresses(of: 1)) : .init(350, 1, .a, .addresses(of: 0))
            ])
    }

    @Test func `of 300 addresses that refuse in turn, 256 are asked, then LocalDNS's answer is given`() {
        let refusals: [(Int, RaceEvent)] = (0..<300).map { (2 + $0, .failed(1, .a)) }
        let race = ScriptedRace(
            RaceRules(.httpdnsFirst, [RaceRules.Source(provider: 0, addresses: 300)]),
            [(0, .joined(1, .a)), (1, .failed(0, .a))] + refusals + [(600, .replied(2, a: .records(1), aaaa: nil))])
        #expect(race.asked.count { $0.place < 2 } == 256)
        #expect(race.replies.count == 1)
    }

    @Test func `C5: with LocalDNS first NODATA beside a verified family is verified, and no provider is asked`() {
        let race = ScriptedRace(
            localFirst,
            [
                (0, .joined(1, .a)), (1, .joined(2, .aaaa)), (20, .replied(0, a: .records(1), aaaa: .noData)),
                (80, .checked(.a, 0, .verified)),
            ])
        #expect(race.asked == [.init(0, 0, .both)])
        #expect(
            race.replies == [
                .init(80, 1, .a, .verified(.at(0), life: 600)),
                .init(80, 2, .aaaa, RaceAnswer(.verified, .noData, .localDNS([]), life: 600)),
            ])
    }

    @Test(arguments: [350, 899]) func `C6: with LocalDNS first no provider is asked while addresses are checked`(
        time: Int
    ) {
        let race = ScriptedRace(
            localFirst,
            [
                (0, .joined(1, .a)), (20, .replied(0, a: .records(1), aaaa: .noData)),
                (time, .checked(.a, 0, .verified)),
            ])
        #expect(race.asked == [.init(0, 0, .both)])
        #expect(race.replies == [.init(time, 1, .a, .verified(.at(0), life: 600))])
    }

    @Test func `C7: within a search domain the first NXDOMAIN is followed by LocalDNS, and by no other provider`() {
        var rules = RaceRules(.httpdnsFirst, [.first, .second])
        rules.isInSearchDomain = true
        let race = ScriptedRace(
            rules,
            [
                (0, .joined(1, .a)), (40, .replied(0, a: .nxDomain, aaaa: nil)),
                (60, .replied(2, a: .records(1), aaaa: .noData)),
            ])
        #expect(race.asked == [.init(0, 0, .a), .init(40, 2, .both)])
        #expect(
            race.replies == [.init(60, 1, .a, RaceAnswer(.provider, .records, .localDNS(.at(0)), life: 30))])
    }

    @Test func `C8: beside a verified address the others are awaited for 0.3 s`() {
        let race = ScriptedRace(
            localFirst,
            [
                (0, .joined(1, .a)), (10, .replied(0, a: .records(3), aaaa: .noData)), (50, .checked(.a, 0, .verified)),
                (250, .checked(.a, 1, .verified)),
            ])
        #expect(race.replies == [.init(350, 1, .a, .verified(RaceAnswer.Addresses(count: 2), life: 600))])
    }
}
