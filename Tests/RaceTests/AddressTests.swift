import DNSResolver
import Scheduling
import Testing

struct AddressTests {
    @Test("of nine addresses eight are checked, three at a time, and unproved all nine are given")
    func manyAddresses() {
        var race = Race(RaceRules(.httpdnsFirst, [RaceRules.Source(provider: 0)]))
        var checks: [RaceAnswer.Addresses] = []
        var replies: [RaceAnswer] = []
        func play(_ event: Race.Event) {
            for effect in race.apply(event, at: Instant(nanoseconds: 0)) {
                if case .check(_, let addresses) = effect { checks.append(addresses) }
                if case .reply(_, _, let answer) = effect { replies.append(answer) }
            }
        }
        play(.joined(0, .a))
        play(.failed(0, .a))
        play(.replied(1, a: .records(9), aaaa: .noData))
        for address in 0..<8 { play(.checked(.a, address, .unproved)) }
        play(.failed(0, .aaaa))
        #expect(checks == [RaceAnswer.Addresses(count: 3), .at(3), .at(4), .at(5), .at(6), .at(7)])
        #expect(
            replies == [
                RaceAnswer(.unproved, .records, .localDNS(RaceAnswer.Addresses(rawValue: 0b1_1111_1111)), life: 30)
            ])
    }
}
