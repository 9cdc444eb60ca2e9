import Scheduling
import TestSupport
import TestUpstreams
import Testing

@testable import DNSResolver

@Suite(.onLoop)
struct AddressRankingTests {
    /// Addresses with their response times in milliseconds; nil: not asked yet.
    @Loop
    private func addresses(_ times: [(String, Int?)]) -> [FakeUpstream] {
        let clock = ManualClock()
        return times.map { name, time in
            let address = FakeUpstream(name, .silence, clock: clock)
            if let time { address.health.responseTime.add(.milliseconds(time)) }
            return address
        }
    }

    @Loop
    private func order(_ ranking: inout AddressRanking, _ addresses: [FakeUpstream]) -> [String] {
        ranking.order(addresses, family: .ipv4).map(\.name)
    }

    @Test @Loop
    func `at the start addresses are asked as they are configured`() {
        var ranking = AddressRanking()
        #expect(order(&ranking, addresses([("a", nil), ("b", nil), ("c", nil)])) == ["a", "b", "c"])
    }

    @Test @Loop
    func `an address that is a fifth faster takes over, one that is a little faster does not`() {
        for (time, first) in [(81, "a"), (79, "b")] {
            var ranking = AddressRanking()
            let addresses = addresses([("a", 100), ("b", nil)])
            _ = order(&ranking, addresses)
            addresses[1].health.responseTime.add(.milliseconds(time))
            #expect(order(&ranking, addresses).first == first)
        }
    }

    @Test @Loop
    func `one question in fifty begins with another address, each in turn`() {
        var ranking = AddressRanking()
        let addresses = addresses([("a", 10), ("b", nil), ("c", nil)])
        let first = (1...150).map { _ in order(&ranking, addresses)[0] }
        #expect(first.count { $0 == "a" } == 147)
        #expect([first[49], first[99], first[149]] == ["b", "c", "b"])
    }

    @Test @Loop
    func `the spare address is the one that is asked after the preferred one, and a single address has none`() {
        var ranking = AddressRanking()
        let addresses = addresses([("a", 100), ("b", 30), ("c", 10)])
        _ = order(&ranking, addresses)
        #expect(ranking.spare(of: addresses, family: .ipv4)?.name == order(&ranking, addresses)[1])
        // Without the preferred one the faster of the others is, and the slower one its spare.
        #expect(ranking.spare(of: Array(addresses[..<2]), family: .ipv4)?.name == "a")
        #expect(ranking.spare(of: Array(addresses[..<1]), family: .ipv4) == nil)
    }

    @Test @Loop
    func `the other family is neither explored nor preferred for its speed`() {
        var ranking = AddressRanking()
        let addresses = addresses([("a", 100), ("[2001:db8::1]", 1), ("b", nil)])
        let orders = (1...100).map { _ in order(&ranking, addresses) }
        #expect(!orders.contains { $0[0].hasPrefix("[") })
        #expect(orders[0] == ["a", "b", "[2001:db8::1]"])
    }

    @Test @Loop
    func `an address that fails gives its place to the fastest other one, and gets it back only by speed`() {
        var ranking = AddressRanking()
        let addresses = addresses([("a", 50), ("b", 90), ("c", 60)])
        _ = order(&ranking, addresses)
        let now = Instant(nanoseconds: 0)
        addresses[0].health.backoff.failed(at: now)
        #expect(order(&ranking, addresses) == ["c", "b", "a"])
        addresses[0].health.answered(at: now + .seconds(40))
        #expect(order(&ranking, addresses)[0] == "c")
        for _ in 0..<40 { addresses[0].health.responseTime.add(.milliseconds(20)) }
        #expect(order(&ranking, addresses)[0] == "a")
    }

    @Test @Loop
    func `when all IPv4 addresses have failed IPv6 is asked first`() {
        var ranking = AddressRanking()
        let addresses = addresses([("a", nil), ("b", nil), ("[2001:db8::1]", nil)])
        let now = Instant(nanoseconds: 0)
        for address in addresses[..<2] { address.health.backoff.failed(at: now) }
        #expect(order(&ranking, addresses)[0] == "[2001:db8::1]")
    }

    @Test @Loop
    func `the average follows the last replies`() {
        var time = ResponseTime()
        for _ in 0..<50 { time.add(.milliseconds(100)) }
        time.add(.milliseconds(20))
        #expect(time.average == .milliseconds(90))
    }
}
