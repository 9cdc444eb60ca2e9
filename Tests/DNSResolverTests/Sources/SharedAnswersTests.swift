import DNSCache
import DNSWire
import TestSupport
import TestUpstreams
import Testing

@testable import DNSResolver

/// Answers that several servers share, before a provider is asked, on a clock that the test moves.
@Suite(.onLoop) struct SharedAnswersTests {
    /// A shared cache that replies after a time.
    @Loop
    final class Shared: SharedAnswers {
        @Loop
        final class Lookup: SharedLookup {
            let owner: Shared
            fileprivate var timer: LoopTimer?

            fileprivate init(_ owner: Shared) { self.owner = owner }

            func share(_ answer: Answer, _ type: RecordType, of provider: Int, from server: String) {
                owner.written.append((type, provider))
            }

            func cancel() {
                timer?.cancel()
                owner.ended += 1
            }
        }

        let clock: ManualClock
        var answers: [SharedAnswer] = []
        var delay = Duration.milliseconds(1)
        var isAway = false
        var asked: [[RecordType]] = []
        var written: [(type: RecordType, provider: Int)] = []
        var ended = 0

        init(_ clock: ManualClock) { self.clock = clock }

        /// Has an answer of a provider.
        func add(_ type: RecordType, _ address: String, provider: Int = 0) throws {
            let address = try #require(IPAddress(address))
            let answer = Answer(name: try Name("www.example.com"), addresses: [address], ttl: 60)
            answers.append(
                SharedAnswer(type: type, answer: answer, remaining: 60, provider: provider, server: "203.0.113.1:443"))
        }

        func begin(
            _ key: FlightKey, _ types: [RecordType], done: @escaping @Loop ([SharedAnswer]) -> Void
        ) -> (any SharedLookup)? {
            guard !isAway else { return nil }
            asked.append(types)
            let lookup = Lookup(self)
            lookup.timer = clock.schedule(after: delay) { [self] in done(answers) }
            return lookup
        }
    }

    /// A network with a shared cache, and one address of a provider.
    @Loop private func network(
        answersBothFamilies: Bool = true, isAuthenticated: Bool = true
    ) -> (network: LookupNetwork, shared: Shared) {
        let network = LookupNetwork()
        let shared = Shared(network.clock)
        network.shared = shared
        network.provider = FakeProvider(
            "vendor", addresses: [network.first], answersBothFamilies: answersBothFamilies,
            isAuthenticated: isAuthenticated)
        return (network, shared)
    }

    @Test @Loop func `a flight that has looked among shared answers ends with its race`() async throws {
        let (network, shared) = network()
        try shared.add(.a, "192.0.2.7")
        await network.fly()
        #expect(network.flight != nil && network.results.isEmpty)
        await network.clock.advance(by: .seconds(3))
        #expect(network.results.count == 2 && network.flight == nil)
    }

    @Test(arguments: [true, false]) @Loop
    func `an answer that is found is the provider's, which is not asked`(answersBothFamilies: Bool) async throws {
        let (network, shared) = network(answersBothFamilies: answersBothFamilies)
        try shared.add(.a, "192.0.2.7")
        try shared.add(.aaaa, "2001:db8::7")
        await network.fly(for: .milliseconds(10))
        #expect(network.addresses(.a) == ["192.0.2.7"] && network.addresses(.aaaa) == ["2001:db8::7"])
        #expect(network.sources[.a] == .shared(index: 0))
        #expect(network.first.asked.isEmpty)
        #expect(shared.written.isEmpty, "it is not written again")
        #expect(shared.ended == 1)
    }

    @Test @Loop func `the provider is asked for what is missing, and that is shared`() async throws {
        let (network, shared) = network()
        try shared.add(.a, "192.0.2.7")
        await network.fly(for: .milliseconds(10))
        #expect(network.addresses(.a) == ["192.0.2.7"] && network.addresses(.aaaa) == ["2001:db8::1"])
        #expect(network.first.asked.map(\.types) == [[.aaaa]])
        #expect(shared.written.map(\.type) == [.aaaa])
    }

    @Test @Loop func `where nothing can be looked up, the provider is asked at once`() async throws {
        let (network, shared) = network()
        shared.isAway = true
        await network.fly()
        #expect(network.addresses(.a) == ["192.0.2.1"])
    }

    @Test @Loop func `an answer over plain http is neither looked up nor shared`() async throws {
        let (network, shared) = network(isAuthenticated: false)
        await network.fly(for: .milliseconds(10))
        #expect(network.addresses(.a) == ["192.0.2.1"])
        #expect(shared.asked.isEmpty && shared.written.isEmpty)
    }

    @Test @Loop func `beside a provider over HTTPS, what one over plain http answers is not shared`() async {
        let (network, shared) = network()
        network.first.behaviour = .failure(.network("down"))
        network.localDNS.behaviour = .failure(.network("down"))
        let plain = FakeProvider("plain", addresses: [network.second], isAuthenticated: false)
        await network.fly([.a], providers: [network.provider, plain], for: .seconds(3))
        #expect(network.sources[.a] == .provider(index: 1))
        #expect(shared.asked.count == 1 && shared.written.isEmpty)
    }

    @Test(arguments: [Route.bypass, .portal]) @Loop
    func `only names that go to the providers are looked up`(route: Route) async throws {
        let (network, shared) = network()
        await network.fly(route: route, for: .seconds(3))
        #expect(shared.asked.isEmpty)
    }

    @Test @Loop func `an answer of a provider that may not be asked is not taken`() async throws {
        let (network, shared) = network()
        try shared.add(.a, "192.0.2.7", provider: 5)
        await network.fly([.a], for: .milliseconds(10))
        #expect(network.addresses(.a) == ["192.0.2.1"])
    }

    @Test @Loop func `an address that no answer may hold is not taken, and the provider is asked`() async throws {
        let (network, shared) = network()
        let bogus = try #require(AddressPrefix("192.0.2.7"))
        network.filter = AddressFilter(bogus: [bogus])
        try shared.add(.a, "192.0.2.7")
        await network.fly([.a], for: .milliseconds(10))
        #expect(network.addresses(.a) == ["192.0.2.1"])
    }

    @Test @Loop func `while a look-up takes its time, LocalDNS is asked after 0.3 s`() async throws {
        let (network, shared) = network()
        shared.delay = .seconds(1)
        await network.fly(for: .milliseconds(299))
        #expect(network.localDNS.asked.isEmpty && network.first.asked.isEmpty)
        await network.clock.advance(by: .milliseconds(1))
        #expect(network.localDNS.asked.count == 2)
        await network.clock.advance(by: .seconds(1))
        #expect(network.addresses(.a) == ["192.0.2.1"])
    }

    @Test @Loop func `an answer of LocalDNS is not shared`() async throws {
        let (network, shared) = network()
        network.first.behaviour = .failure(.network("down"))
        await network.fly(for: .seconds(3))
        #expect(network.addresses(.a) == ["203.0.113.9"])
        #expect(shared.written.isEmpty)
        #expect(shared.ended == 1, "the turn to ask is given back")
    }

    @Test @Loop func `a denial of a name that may be local waits for LocalDNS, and is not shared`() async throws {
        let (network, shared) = network()
        let denial = Answer.negative(.nameError, name: try Name("www.example.com"), ttl: 60)
        shared.answers = [
            SharedAnswer(type: .a, answer: denial, remaining: 60, provider: 0, server: "")
        ]
        await network.fly([.a], mayBeLocal: true, for: .seconds(3))
        #expect(network.addresses(.a) == ["203.0.113.9"])
        #expect(shared.written.isEmpty)
    }

    @Test @Loop func `an answer lives no longer than it has left, whatever TTLs are raised to`() async throws {
        let clock = ManualClock()
        let shared = Shared(clock)
        let name = try Name("www.example.com")
        let answer = Answer(name: name, addresses: [.v4(0xc000_0207)], ttl: 7)
        shared.answers = [SharedAnswer(type: .a, answer: answer, remaining: 7, provider: 0, server: "")]
        let vendor = FakeUpstream("vendor", .addresses("192.0.2.1"), clock: clock)
        let lines = SourceLines(
            providers: [FakeProvider("vendor", addresses: [vendor])], localDNS: vendor, shared: shared, clock: clock)
        let policy = ResolverPolicy(
            localAnswers: LocalAnswers(), routes: RoutePolicy(), lines: lines,
            sources: SourceTags(forwards: 0, providers: 1))
        let freshness = FreshnessPolicy(minTTL: .seconds(600))
        let memory = MemoryCache(memory: 1 << 20, policy: freshness)
        let store = AnswerStore(
            memory: memory, freshness: freshness, generation: PolicyGeneration(), policy: policy,
            badAddresses: BadAddresses(clock: clock), clock: clock)
        let resolver = Resolver(policy: policy, store: store, clock: clock) { _ in }
        let question = Question(name: name, type: .a)
        let key = QueryKey(question, dnssecOK: false, checkingDisabled: false)
        resolver.respond(
            to: ClientQuestion(question: question, client: .v4(0x7f00_0001), arrived: clock.now)
        ) { _ in }
        await clock.advance(by: .milliseconds(10))
        #expect(memory.entry(for: key)?.lifetime == 7)
    }
}
