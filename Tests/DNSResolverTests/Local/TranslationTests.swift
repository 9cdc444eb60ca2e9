import DNSCache
import DNSWire
import TestSupport
import TestUpstreams
import Testing

@testable import DNSResolver

/// IPv6 addresses made of IPv4 addresses (DNS64).
@Suite(.onLoop) struct TranslationTests {
    /// 192.0.2.1 and 192.0.2.7 behind the well-known prefix, and the former behind another one.
    private static let (first, second, elsewhere) = (
        "64:ff9b::192.0.2.1", "64:ff9b::192.0.2.7", "2001:db8:64::192.0.2.1"
    )

    private func prefix(_ text: String = "64:ff9b::/96") -> Translation {
        NAT64Prefix(text).map(Translation.prefix) ?? .none
    }

    /// A machine whose provider answers IPv4 addresses alone.
    @Loop private func machine(
        _ families: FamilyPreference = .both, routes: RoutePolicy = RoutePolicy(),
        check: RaceRules.CertificateCheck = .off, both: Bool = true, filter: AddressFilter = AddressFilter(),
        translation: Translation? = nil
    ) -> Machine {
        let machine = Machine(
            policy: routes, check: check, local: LocalAnswers(families: families), answersBothFamilies: both,
            filter: filter, translation: translation ?? prefix())
        machine.vendor.behaviour = .addresses("192.0.2.1")
        return machine
    }

    @Loop private func aaaa(_ machine: Machine, signed: Bool = false, checkingDisabled: Bool = false) async
        -> ClientReply
    {
        await machine.ask("www.example.com", .aaaa, signed: signed, checkingDisabled: checkingDisabled)
    }

    @Loop private func records(_ reply: ClientReply) throws -> [Record] {
        let question = Question(name: try Name("www.example.com"), type: .aaaa)
        return reply.packed?.unpacked(for: question)?.answers ?? []
    }

    // MARK: What is made

    @Test(arguments: [true, false]) @Loop
    func `B12: a name with IPv4 addresses alone has IPv6 addresses that stand for them, also for the UDP threads`(
        both: Bool
    ) async throws {
        let machine = machine(both: both)
        #expect(await aaaa(machine).has(Self.first))
        #expect(try machine.hit("www.example.com", .aaaa)?.answers.map(\.type) == [.aaaa])
        #expect(await machine.ask().has("192.0.2.1"))
        #expect(machine.vendor.asked.map(\.types) == (both ? [[.a, .aaaa]] : [[.aaaa], [.a]]))
    }

    @Test(arguments: [true, false]) @Loop
    func `a name with IPv6 addresses keeps them, and those that stand for IPv4 ones otherwise do not count`(
        both: Bool
    ) async throws {
        let machine = machine(both: both)
        machine.vendor.behaviour = .addresses("192.0.2.1", "2001:db8::1", "::ffff:192.0.2.9")
        let reply = await aaaa(machine)
        #expect(try records(reply).compactMap(\.address) == [IPAddress("2001:db8::1")])
        let other = self.machine(both: both)
        other.vendor.behaviour = .addresses("192.0.2.1", "::ffff:192.0.2.9")
        let translated = await aaaa(other)
        #expect(try records(translated).compactMap(\.address) == [IPAddress(Self.first)])
    }

    @Test @Loop func `aliases stay, signatures and addresses that no translator leads to are not`() async throws {
        let machine = machine()
        let (www, edge) = (try Name("www.example.com"), try Name("edge.example.net"))
        let alias = Record(name: www, type: .cname, ttl: 300, rdata: edge.wire)
        let ipv4 = ["192.0.2.1", "127.0.0.1", "10.0.0.1", "192.0.2.7"].compactMap { IPAddress($0) }
        machine.vendor.behaviour = .reply(
            after: .zero,
            [
                .a: .answer(Answer(answers: [alias] + ipv4.map { Record(name: edge, address: $0, ttl: 60) })),
                .aaaa: .answer(Answer(answers: [alias], authorities: [.negativeSOA(for: edge, ttl: 90)])),
            ])
        let records = try records(await aaaa(machine))
        #expect(records.map(\.type) == [.cname, .aaaa, .aaaa])
        #expect(records.map(\.name) == [www, edge, edge])
        #expect(records.compactMap(\.address) == [Self.first, Self.second].compactMap { IPAddress($0) })
    }

    @Test(arguments: [(300, 90, 90), (60, 90, 60), (3_600, nil, 600)] as [(UInt32, UInt32?, UInt32)]) @Loop
    func `the TTL is that of A, and no longer than the denial holds`(ipv4: UInt32, denial: UInt32?, ttl: UInt32)
        async throws
    {
        let machine = machine()
        machine.vendor.behaviour = .reply(
            after: .zero,
            [
                .a: .answer(Answer(name: .root, addresses: [.v4(0xc000_0201)], ttl: ipv4)),
                .aaaa: .answer(denial.map { .negative(name: .root, ttl: $0) } ?? Answer()),
            ])
        #expect(try records(await aaaa(machine)).map(\.ttl) == [ttl])
    }

    @Test @Loop func `what is left of a cached A's time bounds that of its AAAA`() async throws {
        let machine = machine(both: false)
        _ = await machine.ask()
        await machine.clock.advance(by: .seconds(20))
        #expect(try records(await aaaa(machine)).map(\.ttl) == [40])
        #expect(machine.vendor.asked.map(\.types) == [[.a], [.aaaa]])
    }

    @Test @Loop func `addresses are made of LocalDNS's verified ones while the provider fails`() async throws {
        let machine = machine(check: .auto, both: false)
        machine.handshake.servers["203.0.113.9"] = .honest
        machine.localDNS.behaviour = .addresses("203.0.113.9")
        machine.vendor.behaviour = .reply(
            after: .zero, [.a: .failure(.network("refused")), .aaaa: .answer(.negative(name: .root, ttl: 3_600))])
        #expect(await aaaa(machine).has("64:ff9b::203.0.113.9"))
    }

    @Test(arguments: [true, false]) @Loop
    func `a client that wants signatures where there are none gets addresses, fresh and cached`(both: Bool) async {
        let machine = machine(both: both)
        #expect(await aaaa(machine, signed: true).has(Self.first))
        let again = await aaaa(machine, signed: true)
        #expect(again.has(Self.first) && again.response?.kind == .cache)
    }

    // MARK: What is not

    @Test(arguments: [false, true]) @Loop
    func `while all else fails addresses are made of LocalDNS's unproved ones, for half a minute and never stale`(
        isAFirst: Bool
    ) async throws {
        let machine = machine(check: .auto, both: false)
        machine.localDNS.behaviour = .addresses("203.0.113.9")
        machine.vendor.behaviour = .reply(
            after: .zero, [.a: .failure(.network("refused")), .aaaa: .answer(.negative(name: .root, ttl: 3_600))])
        if isAFirst { #expect(await machine.ask().has("203.0.113.9")) }
        let reply = await aaaa(machine)
        #expect(reply.has("64:ff9b::203.0.113.9"))
        #expect(try records(reply).map(\.ttl) == [30])
        machine.failEverything()
        await machine.clock.advance(by: .seconds(31))
        #expect(await aaaa(machine).failure == .serverFailure)
    }

    @Test @Loop func `without a prefix a name with IPv4 addresses alone has no AAAA`() async {
        #expect(await aaaa(machine(translation: Translation.none)).isNoData)
    }

    @Test(arguments: [false, true]) @Loop
    func `a client that checks signatures itself gets what was answered`(signed: Bool) async {
        #expect(await aaaa(machine(), signed: signed, checkingDisabled: true).isNoData)
    }

    @Test(arguments: [RecordType.a, .aaaa]) @Loop
    func `nothing is made where A or "no IPv6 address" is signed and the client wants signatures`(type: RecordType)
        async throws
    {
        let machine = machine(both: false)
        let www = try Name("www.example.com")
        let signature = Record(name: www, type: .rrsig, ttl: 60, rdata: [0, type == .a ? 1 : 6])
        var a = Answer(name: www, addresses: [.v4(0xc000_0201)], ttl: 60)
        var denial = Answer.negative(name: www, ttl: 60)
        if type == .a { a.answers.append(signature) } else { denial.authorities.append(signature) }
        machine.vendor.behaviour = .reply(after: .zero, [.a: .answer(a), .aaaa: .answer(denial)])
        let reply = await aaaa(machine, signed: true)
        #expect(reply.packed?.responseCode == .noError && reply.packed?.counts.answer == 0)
    }

    @Test(arguments: [true, false], [[], ["127.0.0.1"], ["10.0.0.1"]]) @Loop
    func `a name without addresses that can be translated has none`(both: Bool, addresses: [String]) async {
        let machine = machine(both: both)
        machine.vendor.behaviour = .addressList(addresses, after: .zero, ttl: 60)
        #expect(await aaaa(machine).isNoData)
    }

    @Test @Loop func `names that go to LocalDNS are passed on as they are`() async throws {
        let machine = machine(routes: RoutePolicy(bypass: NameList([try Name("example.com")])))
        machine.localDNS.behaviour = .addresses("203.0.113.9")
        #expect(await aaaa(machine).isNoData)
        #expect(machine.localDNS.asked.map(\.types) == [[.aaaa]])
    }

    @Test @Loop func `addresses that are filtered from A are not in AAAA either`() async throws {
        let bogus = try #require(AddressPrefix("192.0.2.1/32"))
        let machine = machine(filter: AddressFilter(bogus: [bogus]))
        machine.vendor.behaviour = .addresses("192.0.2.1", "192.0.2.7")
        #expect(try records(await aaaa(machine)).compactMap(\.address) == [IPAddress(Self.second)])
    }

    @Test(arguments: [FamilyPreference.ipv4, .ipv4Only]) @Loop
    func `clients that are to use IPv4 get no AAAA`(families: FamilyPreference) async {
        #expect(await aaaa(machine(families)).isNoData)
    }

    @Test(arguments: [true, false]) @Loop
    func `ipv6-only: A is asked for AAAA alone, and clients never get it`(both: Bool) async throws {
        let machine = machine(.ipv6Only, both: both)
        #expect(await aaaa(machine).has(Self.first))
        #expect(try machine.hit() == nil)
        #expect(await machine.ask().isNoData)
        #expect(try machine.hit()?.answers.isEmpty == true)
    }

    @Test @Loop func `ipv6: a name that has AAAA of a translator gives no A, and is refreshed all the same`() async {
        let machine = machine(.ipv6, both: false)
        #expect(await machine.ask().isNoData)
        #expect(await aaaa(machine).has(Self.first))
        machine.vendor.behaviour = .addresses("192.0.2.7")
        await machine.clock.advance(by: .seconds(61))
        #expect(await aaaa(machine).has(Self.second))
    }

    // MARK: Failures

    @Test(arguments: [true, false]) @Loop
    func `while A fails the last address is given, stale`(both: Bool) async {
        let machine = machine(both: both)
        let denial = UpstreamResult.answer(.negative(name: .root, ttl: 60))
        #expect(await aaaa(machine).has(Self.first))
        await machine.clock.advance(by: .seconds(61))
        machine.vendor.behaviour = .reply(after: .zero, [.a: .failure(.responseCode(.serverFailure)), .aaaa: denial])
        machine.localDNS.behaviour = .failure(.network("unreachable"))
        let reply = await aaaa(machine)
        #expect(reply.isStale && reply.has(Self.first))
    }

    @Test @Loop func `where AAAA alone fails its place is taken for five seconds`() async throws {
        let machine = machine(both: false)
        let a = UpstreamResult.answer(Answer(name: .root, addresses: [.v4(0xc000_0201)], ttl: 60))
        machine.vendor.behaviour = .reply(after: .zero, [.a: a, .aaaa: .failure(.responseCode(.serverFailure))])
        machine.localDNS.behaviour = .failure(.network("unreachable"))
        _ = await machine.ask()
        let records = try records(await aaaa(machine))
        #expect(records.compactMap(\.address) == [IPAddress(Self.first)] && records.map(\.ttl) == [5])
    }

    // MARK: Another prefix

    @Test(arguments: [true, false]) @Loop
    func `addresses behind another prefix are never given again, fresh or stale`(both: Bool) async {
        let machine = machine(both: both)
        #expect(await aaaa(machine).has(Self.first))
        machine.reload(translation: prefix("2001:db8:64::/96"))
        #expect(await aaaa(machine).has(Self.elsewhere))
        await machine.clock.advance(by: .seconds(61))
        machine.failEverything()
        machine.reload(translation: .none)
        let reply = await aaaa(machine)
        #expect(!reply.has(Self.elsewhere) && !reply.has(Self.first))
    }

    @Test(arguments: [true, false]) @Loop
    func `what had no AAAA before there was a prefix has one then, and A stays cached`(both: Bool) async {
        let machine = machine(both: both, translation: Translation.none)
        #expect(await aaaa(machine).isNoData)
        _ = await machine.ask()
        let asked = machine.vendor.asked.count
        machine.reload(translation: prefix())
        #expect(await aaaa(machine).has(Self.first))
        #expect(machine.vendor.asked.count == asked + 1)
    }

    @Test @Loop func `IPv6 addresses that a provider answered outlast a change of the prefix`() async {
        let machine = machine()
        machine.vendor.behaviour = .addresses("192.0.2.1", "2001:db8::1")
        #expect(await aaaa(machine).has("2001:db8::1"))
        machine.reload(translation: prefix("2001:db8:64::/96"))
        #expect(await aaaa(machine).has("2001:db8::1"))
        #expect(machine.vendor.asked.count == 1)
    }

    @Test @Loop func `while the prefix is awaited AAAA waits for it, and A does not`() async {
        let machine = machine(translation: .awaited)
        let replies = [RecordType.a, .aaaa].map { machine.start("www.example.com", $0) }
        await machine.clock.advance(by: .milliseconds(900))
        #expect(replies[0].has("192.0.2.1") && replies[1].response == nil)
        machine.reload(translation: prefix())
        await machine.clock.advance(by: .zero)
        #expect(replies[1].has(Self.first))
    }

    @Test @Loop func `a prefix that does not come is awaited for a second, and NODATA is given then`() async {
        let machine = machine(translation: .awaited)
        let reply = await aaaa(machine)
        #expect(reply.isNoData)
        #expect(reply.waited == .seconds(1))
    }

    @Test @Loop func `what is made is not archived, and the archive forgets the denial from before`() async throws {
        let machine = machine(both: false)
        let archive = FakeArchive()
        machine.store.archive = archive
        #expect(await aaaa(machine).has(Self.first))
        #expect(archive.stored == [.a] && archive.removed == [.aaaa])
    }

    @Test @Loop func `an address is prefetched by an A that is asked again`() async throws {
        let machine = machine(both: false)
        #expect(await aaaa(machine).has(Self.first))
        #expect(try machine.hit("www.example.com", .aaaa) != nil)
        machine.vendor.behaviour = .addresses("192.0.2.7")
        await machine.clock.advance(by: .seconds(55))
        #expect(await aaaa(machine).has(Self.first))
        await machine.clock.advance(by: .zero)
        let reply = await aaaa(machine)
        #expect(reply.has(Self.second))
        #expect(try records(reply).map(\.ttl) == [60])
    }
}
