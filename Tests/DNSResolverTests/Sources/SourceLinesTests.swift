import DNSWire
import TestSupport
import TestUpstreams
import Testing

@testable import DNSResolver

/// Which upstreams are asked when, and which answer is used, on a clock that the test moves.
@Suite(.onLoop) struct SourceLinesTests {
    private typealias Network = LookupNetwork

    @Test @Loop func `a silent first address is detected though the second one always answers in time`() async {
        let network = Network()
        network.first.behaviour = .silence
        await network.fly()
        await network.clock.advance(by: .milliseconds(1_300))
        #expect(!network.first.health.isUsable)
        await network.fly()
        #expect(network.addresses(.a) == ["192.0.2.2"])
        #expect(network.first.asked.count == 1)
    }

    @Test(arguments: [(20, 20), (300, 30)]) @Loop
    func `a service that says when to come back is probed then, within 30 s, while another one works`(
        wanted: Int, taken: Int
    ) async {
        let network = Network()
        let providers = [
            FakeProvider("vendor", addresses: [network.first]), FakeProvider("other", addresses: [network.second]),
        ]
        network.first.behaviour = .failure(.busy("HTTP 429", retryAfter: .seconds(wanted)))
        await network.fly(providers: providers)
        #expect(network.first.asked.count == 1 && network.first.probes.count == 1)
        network.first.behaviour = .addresses("192.0.2.1")
        await network.clock.advance(by: .seconds(taken - 1))
        await network.fly(providers: providers)
        #expect(network.addresses(.a) == ["192.0.2.2"])
        #expect(network.first.asked.count == 1 && network.first.probes.count == 1)
        await network.clock.advance(by: .seconds(1))
        await network.fly(providers: providers)
        #expect(network.first.health.isUsable)
    }

    @Test @Loop func `a lone service that asked for five minutes is used within a second of its return`() async {
        let network = Network()
        let vendor = FakeProvider("vendor", addresses: [network.first])
        network.first.behaviour = .failure(.busy("HTTP 503", retryAfter: .seconds(300)))
        for _ in 0..<10 {
            await network.fly(providers: [vendor])
            await network.clock.advance(by: .seconds(1))
        }
        network.first.behaviour = .addresses("192.0.2.1")
        await network.clock.advance(by: .seconds(1))
        await network.fly(providers: [vendor])
        #expect(network.addresses(.a) == ["192.0.2.1"])
    }

    @Test @Loop func `an account that was refused for minutes is used again within 30 s, and was reported once`() async
    {
        let network = Network()
        let providers = [
            FakeProvider("vendor", addresses: [network.first]), FakeProvider("other", addresses: [network.second]),
        ]
        network.first.behaviour = .failure(.authentication("HTTP 403"))
        for _ in 0..<300 {
            await network.fly(providers: providers)
            #expect(network.addresses(.a) == ["192.0.2.2"])
            await network.clock.advance(by: .seconds(1))
        }
        #expect(network.events == [.providerRefusedAccess(provider: "vendor", reason: "HTTP 403")])
        network.first.behaviour = .addresses("192.0.2.1")
        var seconds = 0
        while network.addresses(.a) != ["192.0.2.1"], seconds < 60 {
            await network.clock.advance(by: .seconds(1))
            await network.fly(providers: providers)
            seconds += 1
        }
        #expect(seconds <= 31)
    }

    @Test @Loop func `what says "not so fast" is not awaited, and its answer counts when it comes`() async {
        let network = Network()
        network.first.behaviour = .addresses("192.0.2.1", after: .milliseconds(250))
        network.first.delay = .milliseconds(20)
        network.second.behaviour = .silence
        await network.fly()
        await network.clock.advance(by: .milliseconds(19))
        #expect(network.second.asked.isEmpty)
        await network.clock.advance(by: .milliseconds(1))
        #expect(network.second.asked.count == 1)
        await network.clock.advance(by: .milliseconds(230))
        #expect(network.addresses(.a) == ["192.0.2.1"])
    }

    @Test @Loop func `in mode httpdns-only a name that no provider is for has failed, it is not empty`() async throws {
        let network = Network()
        network.mode = .httpdnsOnly
        let other = FakeProvider("vendor", addresses: [network.first], names: [try Name("example.net")])
        await network.fly(providers: [other])
        guard case .failure? = network.results[.a] else {
            Issue.record("not a failure: \(String(describing: network.results[.a]))")
            return
        }
    }

    @Test(arguments: [false, true]) @Loop
    func `DS, which its parent has, is asked of the providers of the parent`(isSigned: Bool) throws {
        let own = FakeProvider("own", addresses: [], anyType: true, names: [try Name("corp.example")])
        let network = Network()
        let lines = SourceLines(
            providers: [own, FakeProvider("all", addresses: [], anyType: true)], localDNS: network.localDNS,
            clock: network.clock)
        func eligible(_ name: String, _ type: RecordType) throws -> [Int] {
            lines.eligible(
                for: FlightKey(
                    name: try Name(name), type: type, route: .protect(explicit: false), dnssecOK: isSigned,
                    checkingDisabled: false))
        }
        #expect(try eligible("corp.example", .ds) == [1])
        #expect(try eligible("lab.corp.example", .ds) == [0, 1])
        for type in [RecordType.a, .ns, .txt, .rrsig] { #expect(try eligible("corp.example", type) == [0, 1]) }
        #expect(try eligible(".", .ds) == [1])
    }

    @Test @Loop func `B3: when the service stays silent LocalDNS's unproved answer is given at 2.3 s`() async {
        let network = Network()
        network.first.behaviour = .silence
        network.second.behaviour = .silence
        await network.fly()
        await network.clock.advance(by: .milliseconds(2_299))
        #expect(network.results.isEmpty)
        await network.clock.advance(by: .milliseconds(1))
        #expect(network.addresses(.a) == ["203.0.113.9"])
        #expect(network.addresses(.aaaa) == ["2001:db8::9"])
    }

    @Test @Loop func `an empty family of a name that the vendor knows is NODATA, and LocalDNS is not asked`() async {
        let network = Network()
        network.first.behaviour = .reply(
            after: .zero,
            [
                .a: .answer(Answer(name: .root, addresses: [.v4(0xc000_0201)], ttl: 60)),
                .aaaa: .indeterminateEmpty(ttl: 3_600),
            ])
        await network.fly()
        #expect(network.emptyTTL(.aaaa) == 300)
        #expect(network.localDNS.asked.isEmpty)
    }

    @Test @Loop
    func `a service with a call for each family is asked for both at once, and a slow AAAA does not hold A up`() async {
        let network = Network()
        network.first.behaviour = .failure(.network("refused"))
        network.second.slow = [.aaaa: .milliseconds(250)]
        let reserve = FakeProvider("reserve", addresses: [network.second], answersBothFamilies: false)
        await network.fly(providers: [FakeProvider("vendor", addresses: [network.first]), reserve])
        #expect(network.first.asked.map(\.types) == [[.a, .aaaa]])
        #expect(Set(network.second.asked.map(\.types)) == [[.a], [.aaaa]])
        #expect(network.addresses(.a) == ["192.0.2.2"])
        #expect(network.results[.aaaa] == nil && !network.finished)
        await network.clock.advance(by: .milliseconds(250))
        #expect(network.addresses(.aaaa) == ["2001:db8::2"])
        #expect(network.sources == [.a: .provider(index: 1), .aaaa: .provider(index: 1)])
        #expect(network.second.asked.count == 2 && network.finished)
    }

    @Test @Loop func `a refused account puts the provider in backoff without a second request`() async {
        let network = Network()
        network.first.behaviour = .failure(.authentication("InvalidSignature"))
        await network.fly()
        #expect(network.addresses(.a) == ["203.0.113.9"])
        #expect(network.second.asked.isEmpty)
        #expect(network.events.count == 1)
        await network.fly()
        #expect(network.first.asked.count == 1)
    }

    @Test @Loop
    func `when every address is in backoff a question that nothing else can answer fails at once, and says so`() async {
        let network = Network()
        network.mode = .httpdnsOnly
        network.first.behaviour = .failure(.network("refused"))
        network.second.behaviour = .failure(.network("refused"))
        await network.fly()
        await network.fly()
        #expect(network.results[.a] == .failure(.network("every address is in backoff after failures")))
    }

    /// Both addresses are in backoff: the first may be probed now, and its probe fails after 400 ms; the second one
    /// answers, and may be probed in 150 ms.
    @Loop private func networkInBackoff() async -> Network {
        let network = Network()
        network.first.behaviour = .failure(.network("refused"))
        network.second.behaviour = .failure(.network("refused"))
        network.second.probeBehaviour = .failure(.network("refused"), after: .milliseconds(200))
        await network.fly()
        await network.clock.advance(by: .milliseconds(300))
        network.first.probeBehaviour = .failure(.network("refused"), after: .milliseconds(400))
        network.second.probeBehaviour = nil
        network.second.behaviour = .addresses("192.0.2.2")
        return network
    }

    @Test @Loop
    func `a question fails when the probes under way have failed, not before, and begins no further ones`() async {
        let network = await networkInBackoff()
        network.mode = .httpdnsOnly
        network.second.behaviour = .failure(.network("refused"))
        let before = (network.first.probes.count, network.second.probes.count)
        await network.fly()
        await network.clock.advance(by: .milliseconds(399))
        #expect(network.results.isEmpty)
        await network.clock.advance(by: .milliseconds(1))
        #expect(network.results[.a] == .failure(.network("every address is in backoff after failures")))
        #expect((network.first.probes.count, network.second.probes.count) == (before.0 + 1, before.1))
    }

    @Test @Loop func `an address that is back is asked by the first question after a probe of the other failed`() async
    {
        let network = Network()
        network.mode = .httpdnsOnly
        await failFirst(network)
        network.first.behaviour = .addresses("192.0.2.1")
        network.second.behaviour = .silence
        await network.fly()
        await network.clock.advance(by: Budget.answer + .seconds(1))
        #expect(!network.second.health.isUsable && network.first.asked.count == 1)
        await network.fly()
        #expect(network.addresses(.a) == ["192.0.2.1"])
    }

    /// Puts the first address into a long backoff: its next probe is not due for seconds.
    @Loop private func failFirst(_ network: Network, providers: [FakeProvider]? = nil) async {
        network.first.behaviour = .failure(.network("refused"))
        for _ in 0..<40 {
            await network.fly(providers: providers)
            await network.clock.advance(by: .milliseconds(500))
        }
    }

    @Test @Loop func `a name that is slow at an address which answers others has no other one probed early`() async {
        let network = Network()
        network.mode = .httpdnsOnly
        await failFirst(network)
        let probes = network.first.probes.count
        network.second.behaviour = .silence
        await network.fly()
        await network.clock.advance(by: .milliseconds(100))
        network.second.health.answered(at: network.clock.now)
        await network.clock.advance(by: .milliseconds(900))
        #expect(network.first.probes.count == probes)
    }

    @Test @Loop
    func `a provider whose calls of the day are used up is passed over at once, and the failure says why`() async {
        let network = Network()
        network.provider.unavailability = "its daily_limit of 5 calls is reached"
        await network.fly()
        #expect(network.addresses(.a) == ["203.0.113.9"])
        #expect(network.first.asked.isEmpty && network.second.asked.isEmpty)
        network.mode = .httpdnsOnly
        await network.fly()
        #expect(network.results[.a] == .failure(.network("vendor: its daily_limit of 5 calls is reached")))
    }

    @Test @Loop
    func `a provider hears of each question that it may not be asked, and of no other look at its state`() async throws
    {
        let network = Network()
        network.provider.unavailability = "its daily_limit of 5 calls is reached"
        let lines = SourceLines(providers: [network.provider], localDNS: network.localDNS, clock: network.clock)
        let key = FlightKey(
            name: try Name("www.example.com"), type: .a, route: .protect(explicit: false), dnssecOK: false,
            checkingDisabled: false)
        #expect(!lines.isProbeDue(for: key))
        #expect(network.provider.leftOutCount == 0)
        await network.fly()
        #expect(network.provider.leftOutCount == 1)
    }

    @Test @Loop func `a wrong certificate is reported once, and once more when it is right again`() async {
        let network = Network()
        network.first.behaviour = .failure(.certificate("the certificate has expired"))
        let vendor = FakeProvider("vendor", addresses: [network.first])
        for _ in 0..<4 {
            await network.fly(providers: [vendor])
            await network.clock.advance(by: .seconds(31))
        }
        let refused = ResolverEvent.certificateRefused(
            provider: "vendor", endpoint: "first", reason: "the certificate has expired")
        #expect(network.events == [refused])
        network.first.behaviour = .addresses("192.0.2.1")
        await network.fly(providers: [vendor])
        #expect(network.events == [refused, .certificateAccepted(provider: "vendor", endpoint: "first")])
    }

    @Test @Loop
    func `while another address answers a dead one costs one probe in 30 s at most, and no client waits for it`() async
    {
        let network = Network()
        network.first.behaviour = .failure(.network("refused"))
        for _ in 0..<600 {
            await network.fly()
            #expect(network.addresses(.a) == ["192.0.2.2"])
            await network.clock.advance(by: .milliseconds(500))
        }
        // 300 s: the pauses of 1, 2, 4, 8 and 16 s, then one probe in 30 s.
        #expect(network.first.asked.count == 1)
        #expect((6...15).contains(network.first.probes.count))
    }

    @Test @Loop func `the first address out of backoff is asked, however fast the next one is`() async {
        let network = Network()
        network.first.behaviour = .addresses("192.0.2.1", after: .milliseconds(100))
        network.second.behaviour = .addresses("192.0.2.2", after: .milliseconds(10))
        network.first.health.backoff.failed(at: network.clock.now)
        await network.fly()
        await network.clock.advance(by: .milliseconds(200))
        #expect(network.addresses(.a) == ["192.0.2.2"])
        network.first.health.answered(at: network.clock.now)
        await network.fly()
        await network.clock.advance(by: .milliseconds(200))
        #expect(network.addresses(.a) == ["192.0.2.1"] && network.second.asked.count == 1)
    }

    @Test @Loop func `when many questions come as the pause of a refused account ends, it is probed once`() async {
        let network = Network()
        network.first.behaviour = .failure(.authentication("InvalidSignature"))
        await network.fly()
        network.first.behaviour = .failure(.authentication("InvalidSignature"), after: .milliseconds(20))
        network.second.behaviour = network.first.behaviour
        await network.clock.advance(by: .seconds(30))
        for _ in 0..<20 { await network.fly() }
        await network.clock.advance(by: .seconds(1))
        #expect(network.first.asked.count + network.second.asked.count == 1)
        #expect(network.first.probes.count + network.second.probes.count == 2)
    }

    @Test(arguments: [RecordType.https, .svcb], [false, true]) @Loop
    func `A4: a service binding that no provider can return is empty for 5 s, and LocalDNS is not asked`(
        type: RecordType, anyType: Bool
    ) async {
        let network = Network(anyType: anyType)
        for address in [network.first, network.second] {
            address.behaviour = .reply(after: .zero, [type: .failure(.network("refused"))])
        }
        await network.fly([type])
        #expect(network.emptyTTL(type) == 5)
        #expect(network.localDNS.asked.isEmpty && network.first.asked.count == (anyType ? 1 : 0))
    }
}
