import DNSWire
import TestSupport
import Testing

@testable import DNSResolver

/// Reports of bad addresses: they deprioritize addresses in answers, and fade.
@Suite(.onLoop) struct BadAddressesTests {
    private static let (one, two, three) = ("192.0.2.1", "192.0.2.2", "192.0.2.3")

    private func address(_ text: String) -> IPAddress { IPAddress(text) ?? .v4(0) }

    private func answer(_ texts: String...) -> Answer {
        Answer(name: .root, addresses: texts.map(address), ttl: 60)
    }

    @Loop private func order(_ bad: BadAddresses, _ answer: Answer) -> [String] {
        bad.withBadAddressesLast(answer).addresses.map(\.description)
    }

    @Test @Loop func `a reported address goes last, and the others keep their order`() {
        let bad = BadAddresses(clock: ManualClock())
        bad.report(address(Self.one))
        #expect(order(bad, answer(Self.one, Self.two, Self.three)) == [Self.two, Self.three, Self.one])
    }

    @Test @Loop func `of several reported ones the worst is the very last`() async {
        let bad = BadAddresses(clock: ManualClock())
        bad.report(address(Self.one))
        bad.report(address(Self.one))
        bad.report(address(Self.two))
        #expect(order(bad, answer(Self.one, Self.two, Self.three)) == [Self.three, Self.two, Self.one])
    }

    @Test @Loop func `no set is ever emptied`() {
        let bad = BadAddresses(clock: ManualClock())
        for text in [Self.one, Self.two] { bad.report(address(text)) }
        #expect(order(bad, answer(Self.one)) == [Self.one])
        #expect(Set(order(bad, answer(Self.one, Self.two))) == [Self.one, Self.two])
    }

    @Test @Loop func `records that are no addresses stay where they are`() {
        let bad = BadAddresses(clock: ManualClock())
        bad.report(address(Self.one))
        let alias = Record(name: .root, type: .cname, ttl: 60, rdata: [0])
        var mixed = answer(Self.one, Self.two)
        mixed.answers.insert(alias, at: 0)
        let ordered = bad.withBadAddressesLast(mixed)
        #expect(ordered.answers[0] == alias)
        #expect(ordered.addresses.map(\.description) == [Self.two, Self.one])
    }

    @Test @Loop func `one report counts for its duration and no longer`() async {
        let clock = ManualClock()
        let bad = BadAddresses(clock: clock)
        bad.report(address(Self.one), lifetime: .seconds(90))
        await clock.advance(by: .seconds(89))
        #expect(order(bad, answer(Self.one, Self.two)) == [Self.two, Self.one])
        await clock.advance(by: .seconds(2))
        #expect(order(bad, answer(Self.one, Self.two)) == [Self.one, Self.two])
        #expect(bad.list.isEmpty)
    }

    @Test @Loop func `a short report does not end a long one`() async {
        let clock = ManualClock()
        let bad = BadAddresses(clock: clock)
        bad.report(address(Self.one), lifetime: .seconds(90))
        bad.report(address(Self.one), lifetime: .seconds(1))
        await clock.advance(by: .seconds(89))
        #expect(order(bad, answer(Self.one, Self.two)) == [Self.two, Self.one])
    }

    @Test @Loop func `a report halves with every third of its duration, and two add up`() async {
        let clock = ManualClock()
        let bad = BadAddresses(clock: clock)
        bad.report(address(Self.one), lifetime: .seconds(90))
        await clock.advance(by: .seconds(30))
        #expect(bad.list.map(\.weight) == [0.5])
        bad.report(address(Self.one), lifetime: .seconds(90))
        #expect(bad.list.map(\.weight) == [1.5])
        await clock.advance(by: .seconds(60))
        #expect(bad.list.map(\.weight) == [0.375])
    }

    @Test(arguments: [[0.0], [0, 5], [0, 30, 31]]) @Loop
    func `the list shows when a report will have faded`(reports: [Double]) async throws {
        let clock = ManualClock()
        let bad = BadAddresses(clock: clock)
        var last = 0.0
        for at in reports {
            await clock.advance(by: .seconds(at - last))
            last = at
            bad.report(address(Self.one), lifetime: .seconds(90))
        }
        let until = try #require(bad.list.first?.until)
        await clock.advance(by: until - clock.now - .milliseconds(1))
        #expect(bad.list.count == 1)
        await clock.advance(by: .milliseconds(2))
        #expect(bad.list.isEmpty)
    }

    @Test @Loop func `a report can be taken back`() {
        let bad = BadAddresses(clock: ManualClock())
        bad.report(address(Self.one))
        #expect(bad.remove(address(Self.one)))
        #expect(!bad.remove(address(Self.one)))
        #expect(order(bad, answer(Self.one, Self.two)) == [Self.one, Self.two])
    }

    @Test @Loop func `beyond the limit the lightest report is dropped, never the newest`() async {
        let clock = ManualClock()
        let bad = BadAddresses(clock: clock)
        bad.report(.v4(0))
        await clock.advance(by: .seconds(1))
        for number in 1...UInt32(BadAddresses.capacity) { bad.report(.v4(number)) }
        let listed = Set(bad.list.map(\.address))
        #expect(listed.count == BadAddresses.capacity)
        #expect(!listed.contains(.v4(0)) && listed.contains(.v4(UInt32(BadAddresses.capacity))))
    }
}
