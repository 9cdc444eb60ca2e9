import DNSWire
import TestSupport
import Testing

@testable import DNSResolver

/// Which network gets a unit of a bounded resource, and which unit is evicted.
struct FairShareTests {
    private func network(_ number: UInt32) -> ClientNetwork { ClientNetwork(.v4(0xc000_0200 | number)) }

    /// Takes a unit if the rule gives one.
    private func take(_ share: inout FairShare, _ network: ClientNetwork) -> FairShare.Ticket? {
        if share.isFull {
            guard let yielding = share.yielding(to: network) else { return nil }
            share.remove(yielding)
        }
        return share.add(for: network)
    }

    @Test func `a newcomer gets its unit from the largest holder, the one held longest`() {
        var share = FairShare(capacity: 10)
        let first = take(&share, network(1))
        for _ in 0..<6 { _ = take(&share, network(1)) }
        for _ in 0..<3 { _ = take(&share, network(2)) }
        #expect(share.yielding(to: network(3)) == first)
        #expect(take(&share, network(3)) != nil)
        #expect([1, 2, 3].map { share.held(by: network($0)) } == [6, 3, 1])
    }

    @Test func `a flood ends where all hold equally much, and drives none of them out`() {
        var share = FairShare(capacity: 12)
        for _ in 0..<12 { _ = take(&share, network(1)) }
        for _ in 0..<50 { _ = take(&share, network(2)) }
        #expect([1, 2].map { share.held(by: network($0)) } == [6, 6])
        for _ in 0..<50 { for number in UInt32(3)...4 { _ = take(&share, network(number)) } }
        #expect((UInt32(1)...4).map { share.held(by: network($0)) } == [3, 3, 3, 3])
        #expect(share.yielding(to: network(1)) == nil)
    }

    @Test func `networks that hold one each do not lose it`() {
        var share = FairShare(capacity: 3)
        for number in UInt32(1)...3 { _ = take(&share, network(number)) }
        #expect(take(&share, network(4)) == nil)
    }

    @Test func `what is not held cannot be given back`() {
        var share = FairShare(capacity: 3)
        let ticket = share.add(for: network(1))
        for wrong in [ticket, ticket, -1, 99, .max, .min] { share.remove(wrong) }
        share.renew(ticket)
        #expect(share.count == 0 && share.largest == nil)
    }

    @Test func `addresses of one IPv6 network are one holder, IPv4 addresses many, also this machine's`() throws {
        func networks(_ addresses: [String]) throws -> Int {
            Set(try addresses.map { ClientNetwork(try #require(IPAddress($0))) }).count
        }
        #expect(try networks(["2001:db8::1", "2001:db8::2", "2001:db8:0:0:ffff:ffff:ffff:ffff"]) == 1)
        #expect(try networks(["2001:db8::1", "2001:db8:0:1::1"]) == 2)
        #expect(try networks(["192.0.2.1", "192.0.2.2"]) == 2)
        #expect(try networks(["192.0.2.1", "::ffff:192.0.2.1"]) == 1)
        #expect(try networks(["127.0.0.1", "127.9.9.9", "::1", "::ffff:127.0.0.1"]) == 3)
        #expect("\(ClientNetwork(try #require(IPAddress("2001:db8::7"))))" == "2001:db8::/64")
        #expect("\(ClientNetwork(try #require(IPAddress("192.0.2.1"))))" == "192.0.2.1")
    }

    /// A /48 beside the usual one.
    private static let other: UInt64 = 0x2001_0db8_ffff

    /// The /64 of this number in a /48 of its own, or in the one given.
    private func site(_ number: UInt64, in prefix: UInt64 = 0x2001_0db8_0000) -> ClientNetwork {
        ClientNetwork(.v6(UInt128(prefix << 16 | number) << 64))
    }

    @Test func `among equal networks the largest /48 yields`() {
        var share = FairShare(capacity: 1_000)
        for number in UInt64(0)..<1_100 { _ = take(&share, site(number)) }
        #expect(share.count == 1_000)
        for number in UInt32(0)..<40 { #expect(take(&share, network(number)) != nil) }
        for number in UInt64(1)...40 { #expect(take(&share, site(0, in: 0x2001_0db8_0000 + number)) != nil) }
        #expect((UInt32(0)..<40).allSatisfy { share.held(by: network($0)) == 1 })
        #expect(share.count == 1_000)
        // And the /48 gets none of that back.
        for number in UInt64(2_000)..<2_100 { _ = take(&share, site(number)) }
        #expect((UInt32(0)..<40).allSatisfy { share.held(by: network($0)) == 1 })
        #expect((UInt64(1)...40).allSatisfy { share.held(by: site(0, in: 0x2001_0db8_0000 + $0)) == 1 })
    }

    @Test func `among equal networks the largest /56 yields before a larger /48 of small ones`() {
        var share = FairShare(capacity: 14)
        for number in UInt64(0)..<10 { _ = take(&share, site(number << 8)) }
        let first = take(&share, site(0, in: Self.other))
        for number in UInt64(1)..<4 { _ = take(&share, site(number, in: Self.other)) }
        #expect(share.yielding(to: network(1)) == first)
    }

    @Test func `networks of one each in different /48s do not lose it`() {
        var share = FairShare(capacity: 20)
        for number in UInt64(0)..<20 { _ = take(&share, site(0, in: 0x2001_0db8_0000 + number)) }
        #expect(take(&share, network(1)) == nil && take(&share, site(0, in: Self.other)) == nil)
    }

    @Test func `a network that has more than others takes nothing of a site of many small ones`() {
        var share = FairShare(capacity: 60)
        for number in UInt64(0)..<50 { _ = take(&share, site(number)) }
        for _ in 0..<10 { _ = take(&share, network(1)) }
        #expect(share.yielding(to: network(1)) == nil)
        #expect(share.held(by: network(1)) == 10)
        // While the larger one is there, it yields.
        #expect(share.yielding(to: network(2)).flatMap { share.holder(of: $0) } == network(1))
    }

    @Test func `two sites that want more come to equal parts, and then neither takes anything of the other`() {
        var share = FairShare(capacity: 100)
        for number in UInt64(0)..<100 { _ = take(&share, site(number)) }
        for number in UInt64(0)..<200 { _ = take(&share, site(number, in: Self.other)) }
        let held = { (prefix: UInt64) in (UInt64(0)..<200).reduce(0) { $0 + share.held(by: site($1, in: prefix)) } }
        #expect([held(0x2001_0db8_0000), held(Self.other)] == [50, 50])
        // Nor by other /56s: these displace each other.
        for number in UInt64(0)..<200 { _ = take(&share, site(1_000 + number)) }
        #expect(held(Self.other) == 50 && share.count == 100)
    }

    @Test func `the unit that is preferred yields, where the rule leaves the choice`() {
        var share = FairShare(capacity: 8)
        let tickets = (UInt64(0)..<8).compactMap { take(&share, site($0)) }
        #expect(share.yielding(to: network(1)) { $0 == tickets[5] } == tickets[5])
        #expect(share.yielding(to: network(1)) { _ in false } == tickets[0])
        share.renew(tickets[0])
        #expect(share.yielding(to: network(1)) == tickets[1])
    }

    /// Against a model that sorts at each step.
    @Test(arguments: [1, 2, 3]) func `the largest is the largest after any steps`(seed: UInt64) {
        var generator = SeededNumbers(seed)
        var share = FairShare(capacity: 200)
        var model: [(ticket: FairShare.Ticket, network: ClientNetwork)] = []
        for step in 0..<20_000 {
            let network = network(.random(in: 0..<12, using: &generator) * .random(in: 0...1, using: &generator))
            // For some time mostly more, then mostly less.
            switch Int.random(in: 0..<10, using: &generator) {
            case 0..<(step / 1_000 % 2 == 0 ? 7 : 2):
                if share.isFull, let yielding = share.yielding(to: network) {
                    let counts = Dictionary(grouping: model, by: \.network).mapValues(\.count)
                    let place = model.firstIndex { $0.ticket == yielding }
                    let loser = place.map { model.remove(at: $0).network }
                    #expect(counts.values.max() == loser.flatMap { counts[$0] })
                    #expect(!model.prefix(place ?? 0).contains { $0.network == loser })
                    share.remove(yielding)
                } else if share.isFull {
                    #expect((share.largest?.count ?? 0) <= share.held(by: network) + 1)
                    continue
                }
                model.append((share.add(for: network), network))
            case 8 where !model.isEmpty:
                let renewed = model.remove(at: .random(in: 0..<model.count, using: &generator))
                share.renew(renewed.ticket)
                model.append(renewed)
            default:
                guard !model.isEmpty else { continue }
                share.remove(model.remove(at: .random(in: 0..<model.count, using: &generator)).ticket)
            }
            let counts = Dictionary(grouping: model, by: \.network).mapValues(\.count)
            #expect(share.count == model.count)
            #expect(share.largest?.count == counts.values.max())
            #expect(share.held(by: network) == counts[network, default: 0])
            #expect(share.first(of: network) == model.first { $0.network == network }?.ticket)
            #expect(Set(model.map(\.ticket)).count == model.count)
        }
    }
}
