import DNSCache
import DNSResolver
import DNSWire
import Scheduling
import TestSupport
import TestUpstreams
import Testing

/// What a client observes, from a question to its answer, on a clock that the test moves.
@Suite(.onLoop)
struct ResolverTests {
    /// A machine with one provider and a LocalDNS.
    @Loop
    final class Machine {
        let clock = ManualClock()
        let vendor: FakeUpstream
        let provider: FakeProvider
        let localDNS: FakeUpstream
        /// The servers that certificate checks connect to.
        let handshake: FakeHandshake
        let checks: AddressChecks
        /// Correct, until a test sets it.
        let day = TestDay()
        let generation = PolicyGeneration()
        let memory = MemoryCache(memory: 1 << 20)
        let badAddresses: BadAddresses
        let policy: ResolverPolicy
        let store: AnswerStore
        let resolver: Resolver
        private let heard = Heard()
        /// The events that operators are notified of.
        var events: [ResolverEvent] { heard.events }

        @Loop
        private final class Heard {
            var events: [ResolverEvent] = []
            nonisolated init() {}
        }

        init(
            policy: RoutePolicy = RoutePolicy(), freshness: FreshnessPolicy = FreshnessPolicy(),
            check: RaceRules.CertificateCheck = .off, unverified: [Name] = [],
            local: LocalAnswers = LocalAnswers(), lastResort: Presets = Presets(), preresolve: [Name] = [],
            scoping: ClientScoping? = nil, vendorNames: [Name] = [], flightLimit: Int = Resolver.flightLimit,
            answersBothFamilies: Bool = true, filter: AddressFilter = AddressFilter(),
            translation: Translation = .none, takesCheckingDisabled: Bool = false, others: [any Provider] = []
        ) {
            vendor = FakeUpstream("vendor", .addresses("192.0.2.1", "2001:db8::1"), clock: clock)
            localDNS = FakeUpstream("localdns", .addresses("203.0.113.9", "2001:db8::9"), clock: clock)
            provider = FakeProvider(
                "vendor", addresses: [vendor], answersBothFamilies: answersBothFamilies, names: vendorNames,
                clientScoping: scoping, takesCheckingDisabled: takesCheckingDisabled)
            badAddresses = BadAddresses(clock: clock)
            handshake = FakeHandshake(clock: clock)
            let timeOfDay = TimeOfDay(day, clock: clock) { [heard] in
                heard.events.append($0.map { .clockDoubted($0) } ?? .clockTrusted)
            }
            checks = AddressChecks(
                ports: [443], handshake: handshake, journal: HijackJournal(timeOfDay: { 0 }, report: { _ in }),
                timeOfDay: timeOfDay, clock: clock)
            let sources = SourceTags(forwards: 0, providers: 1 + others.count)
            self.policy = ResolverPolicy(
                localAnswers: local, routes: policy,
                lines: SourceLines(
                    mode: policy.mode, providers: [provider] + others, filter: filter,
                    probes: Probes(clock: clock, report: { _ in }), localDNS: localDNS, forwarders: [], checks: checks,
                    certificateCheck: check, unverified: unverified),
                sources: sources, lastResort: lastResort, preresolve: preresolve, translation: translation)
            store = AnswerStore(
                memory: memory, freshness: freshness, generation: generation, policy: self.policy,
                badAddresses: badAddresses, clock: clock)
            resolver = Resolver(policy: self.policy, store: store, clock: clock, flightLimit: flightLimit) { [heard] in
                heard.events.append($0)
            }
        }

        /// Asks, and moves time on until there is an answer; the time that this took is added to `waited`.
        func ask(
            _ name: String = "www.example.com", _ type: RecordType = .a, signed: Bool = false,
            checkingDisabled: Bool = false, from client: IPAddress = .v4(0x7f00_0001), hidesNetwork: Bool = false
        ) async -> Reply {
            let reply = Reply(clock: clock)
            start(
                name, type, reply, signed: signed, checkingDisabled: checkingDisabled, from: client,
                hidesNetwork: hidesNetwork)
            await clock.advance(by: .zero)
            while reply.response == nil, clock.now - reply.asked < .seconds(5) {
                await clock.advance(by: .milliseconds(100))
            }
            return reply
        }

        /// Asks without waiting.
        func start(
            _ name: String, _ type: RecordType, _ reply: Reply, signed: Bool = false, checkingDisabled: Bool = false,
            from client: IPAddress = .v4(0x7f00_0001), hidesNetwork: Bool = false, after waiting: Duration = .zero
        ) {
            let question = Question(name: (try? Name(name)) ?? .root, type: type)
            let client = ClientQuestion(
                question: question, dnssecOK: signed, checkingDisabled: checkingDisabled, client: client,
                hidesNetwork: hidesNetwork, arrived: clock.now - waiting)
            resolver.respond(to: client) { [clock] in
                reply.response = $0
                reply.answered = clock.now
            }
        }

        /// What the UDP threads answer from the cache; nil where they leave it to the resolver.
        func hit(_ name: String = "www.example.com", _ type: RecordType = .a) throws -> Message? {
            let question = Question(name: try Name(name), type: type)
            let bytes = Message(id: 1, flags: .recursionDesired, questions: [question]).encoded
            guard let query = Query.read(bytes.span) else { return nil }
            var isHit = false
            let reply = [UInt8](capacity: 512) { output in
                isHit = memory.answer(
                    query, memory.ticket(for: query, in: bytes.span), message: bytes.span, now: clock.now,
                    generation: generation.current, limit: 512, into: &output)
            }
            return isHit ? try MessageParser.parse(reply) : nil
        }

        /// Another prefix, or none, is in force from now on.
        func translate(_ translation: Translation) {
            resolver.replace(
                with: ResolverPolicy(
                    localAnswers: policy.localAnswers, routes: policy.routes, lines: policy.lines,
                    sources: policy.sources, lastResort: policy.lastResort, translation: translation),
                freshness: FreshnessPolicy(), isNewGeneration: true)
        }

        /// Makes every upstream fail.
        func failEverything() {
            vendor.behaviour = .failure(.network("refused"))
            localDNS.behaviour = .failure(.network("unreachable"))
        }
    }

    /// What one client received.
    @Loop
    final class Reply {
        let asked: Instant
        var answered: Instant?
        var response: Response?

        init(clock: ManualClock) { asked = clock.now }

        var waited: Duration? { answered.map { $0 - asked } }

        var isStale: Bool {
            if case .stale? = response?.content { true } else { false }
        }

        var failure: ResponseCode? {
            if case .failure(let code)? = response?.content { code } else { nil }
        }

        var packed: PackedAnswer? {
            switch response?.content {
            case .answer(let answer, _)?, .stale(let answer)?: answer
            default: nil
            }
        }

        /// Whether the answer section holds this address, by its bytes.
        func has(_ address: String) -> Bool {
            guard let bytes = IPAddress(address)?.bytes, let body = packed?.body else { return false }
            return body.indices.contains { body[$0...].starts(with: bytes) }
        }
    }

    @Test @Loop func `the resolver has a backlog while requests wait for room at a provider`() {
        let machine = Machine()
        #expect(!machine.resolver.isBacklogged)
        machine.provider.waitingRequests = 1
        #expect(machine.resolver.isBacklogged)
    }

    @Test @Loop func `a question that fails is reported with its reason, once for all waiters`() async throws {
        let machine = Machine()
        machine.failEverything()
        let replies = (0..<3).map { _ in Reply(clock: machine.clock) }
        for reply in replies { machine.start("www.example.com", .a, reply) }
        await machine.clock.advance(by: .seconds(5))
        #expect(replies.allSatisfy { $0.response?.responseCode == .serverFailure && $0.response?.kind == .failure })
        let question = Question(name: try Name("www.example.com"), type: .a)
        let reason = "HTTPDNS: refused; LocalDNS: unreachable"
        #expect(machine.events == [.answerFailed(question, .protect(explicit: false), reason: reason)])
    }

    @Test @Loop func `a stale answer is reported once, with its reason, and where each answer came from`() async throws
    {
        let machine = Machine()
        let first = await machine.ask().response
        #expect(first?.kind == .provider && first?.source == machine.policy.sources.providers[0])
        #expect(await machine.ask().response?.kind == .cache)
        #expect(machine.events.isEmpty)
        await machine.clock.advance(by: .seconds(3_600))
        machine.failEverything()
        let reply = await machine.ask()
        #expect(reply.isStale && reply.response?.kind == .stale)
        let question = Question(name: try Name("www.example.com"), type: .a)
        let reason = "HTTPDNS: refused; LocalDNS: unreachable"
        #expect(
            machine.events.filter(\.isOfAnswer) == [.answerStale(question, .protect(explicit: false), reason: reason)])
    }

    @Test @Loop
    func `the second question is answered from the cache, and so is the other family`() async {
        let machine = Machine()
        _ = await machine.ask()
        #expect(await machine.ask().has("192.0.2.1"))
        #expect(await machine.ask("www.example.com", .aaaa).has("2001:db8::1"))
        #expect(machine.vendor.asked.count == 1)
    }

    @Test @Loop
    func `a hundred clients of one cold name make one call`() async {
        let machine = Machine()
        machine.vendor.behaviour = .addresses("192.0.2.1", "2001:db8::1", after: .milliseconds(50))
        let replies = (0..<100).map { _ in Reply(clock: machine.clock) }
        for (index, reply) in replies.enumerated() {
            machine.start("www.example.com", index.isMultiple(of: 2) ? .a : .aaaa, reply)
        }
        await machine.clock.advance(by: .milliseconds(50))
        #expect(machine.vendor.asked.count == 1)
        #expect(replies.enumerated().allSatisfy { $1.has($0.isMultiple(of: 2) ? "192.0.2.1" : "2001:db8::1") })
    }

    @Test @Loop
    func `an answer that has just expired is served after 200 ms when the refresh is slow`() async {
        let machine = Machine()
        _ = await machine.ask()
        await machine.clock.advance(by: .seconds(70))
        machine.vendor.behaviour = .silence
        machine.localDNS.behaviour = .silence
        let reply = await machine.ask()
        #expect(reply.isStale && reply.has("192.0.2.1"))
        #expect(reply.waited == .milliseconds(200))
        #expect(reply.response?.extendedError?.code == .staleAnswer)
    }

    @Test @Loop
    func `a refresh that comes late serves the next client`() async {
        let machine = Machine()
        _ = await machine.ask()
        await machine.clock.advance(by: .seconds(70))
        machine.vendor.behaviour = .addresses("192.0.2.7", after: .milliseconds(450))
        #expect(await machine.ask().isStale)
        await machine.clock.advance(by: .milliseconds(300))
        let next = await machine.ask()
        #expect(!next.isStale && next.has("192.0.2.7"))
    }

    @Test(arguments: [Mode.httpdnsFirst, .httpdnsOnly]) @Loop
    func `a name that the provider calls empty without a reason is NODATA where LocalDNS says so too, else SERVFAIL`(
        mode: Mode
    ) async {
        let machine = Machine(policy: RoutePolicy(mode: mode))
        (machine.vendor.behaviour, machine.localDNS.behaviour) = (.unknown(), .addressList([], after: .zero, ttl: 60))
        let reply = await machine.ask()
        #expect(reply.packed?.counts == (mode == .httpdnsFirst ? .init(authority: 1) : nil))
        #expect(reply.response?.responseCode == (mode == .httpdnsFirst ? .noError : .serverFailure))
    }

    @Test(arguments: [false, true]) @Loop
    func `LocalDNS gives no address of a family that is empty at the provider that knows the other one`(
        atOnce: Bool
    ) async {
        let machine = Machine(answersBothFamilies: false)
        let addresses = UpstreamResult.answer(Answer(name: .root, addresses: [.v4(0xc000_0201)], ttl: 60))
        machine.vendor.behaviour = .reply(after: .zero, [.a: addresses, .aaaa: .indeterminateEmpty(ttl: nil)])
        machine.vendor.slow = [.a: .milliseconds(50)]
        let first = Reply(clock: machine.clock)
        machine.start("www.example.com", .a, first)
        if !atOnce { await machine.clock.advance(by: .milliseconds(50)) }
        let reply = await machine.ask("www.example.com", .aaaa)
        #expect(first.has("192.0.2.1"))
        #expect(reply.packed?.responseCode == .noError && reply.packed?.counts == .init(authority: 1))
    }

    @Test(arguments: [(RecordType.a, RecordType.aaaa), (.aaaa, .a)], [Duration.zero, .milliseconds(400)]) @Loop
    func `a family that is empty without a reason is NODATA if the provider, asked for the other one then, has that`(
        types: (asked: RecordType, other: RecordType), slow: Duration
    ) async {
        let machine = Machine(answersBothFamilies: false)
        let address = types.other == .a ? IPAddress.v4(0xc000_0201) : .v6(0x2001_0db8 << 96 | 1)
        let addresses = UpstreamResult.answer(Answer(name: .root, addresses: [address], ttl: 60))
        machine.vendor.behaviour = .reply(
            after: .zero, [types.other: addresses, types.asked: .indeterminateEmpty(ttl: nil)])
        machine.vendor.slow = [types.other: slow]
        let reply = await machine.ask("www.example.com", types.asked)
        #expect(reply.packed?.responseCode == .noError && reply.packed?.counts == .init(authority: 1))
        // Both are cached.
        #expect(await machine.ask("www.example.com", types.other).has(types.other == .a ? "192.0.2.1" : "2001:db8::1"))
        #expect(machine.vendor.asked.count == 2)
    }

    @Test @Loop
    func `of a name that a provider has nothing of one call asks for the other family, and LocalDNS's is given`() async
    {
        let machine = Machine(answersBothFamilies: false)
        machine.vendor.behaviour = .unknown()
        #expect(await machine.ask("www.example.com", .aaaa).has("2001:db8::9"))
        #expect(machine.vendor.asked.count == 2)
    }

    @Test @Loop
    func `when no upstream answers the client gets SERVFAIL with a reason`() async {
        let machine = Machine()
        machine.failEverything()
        let reply = await machine.ask()
        #expect(reply.failure == .serverFailure)
        #expect(reply.response?.extendedError?.code == .networkError)
    }

    @Test @Loop
    func `when no upstream responds at all the client is answered by 2300 ms`() async {
        let machine = Machine()
        machine.vendor.behaviour = .silence
        machine.localDNS.behaviour = .silence
        let reply = await machine.ask()
        #expect(reply.failure == .serverFailure)
        #expect((reply.waited ?? .seconds(9)) <= Budget.answer)
        #expect(reply.response?.extendedError?.code == .noReachableAuthority)
    }

    @Test @Loop
    func `a type that only LocalDNS can answer is cached for its own time`() async {
        let machine = Machine()
        let mail = Record(name: .root, type: .txt, ttl: 3_600, rdata: [1, 65])
        machine.localDNS.behaviour = .reply(after: .zero, [.txt: .answer(Answer(answers: [mail]))])
        _ = await machine.ask("www.example.com", .txt)
        await machine.clock.advance(by: .seconds(3_000))
        #expect(await machine.ask("www.example.com", .txt).packed?.counts == .init(answer: 1))
        #expect(machine.localDNS.asked.count == 1)
    }

    @Test @Loop
    func `NODATA that the resolver made is made again when its time is over`() async {
        let machine = Machine()
        for _ in 0..<3 {
            let reply = await machine.ask("www.example.com", .https)
            #expect(!reply.isStale && reply.packed?.counts == .init(authority: 1))
            await machine.clock.advance(by: .seconds(40))
        }
    }

    @Test @Loop
    func `an explicit answer that may not be cached ends the use of the older one`() async {
        let machine = Machine()
        _ = await machine.ask()
        await machine.clock.advance(by: .seconds(70))
        machine.vendor.behaviour = .addresses("192.0.2.7", ttl: 0)
        #expect(await machine.ask().has("192.0.2.7"))
        machine.failEverything()
        #expect(await machine.ask().failure == .serverFailure)
    }

    @Test @Loop
    func `a question that was refused is not asked again though others succeed`() async {
        let machine = Machine()
        let refused = FakeBehaviour.failure(.responseCode(.serverFailure))
        machine.vendor.behaviour = refused
        machine.localDNS.behaviour = refused
        #expect(await machine.ask("broken.example.com").failure == .serverFailure)
        machine.vendor.behaviour = .addresses("192.0.2.1")
        #expect(await machine.ask("fine.example.com").has("192.0.2.1"))
        let asked = machine.vendor.asked.count
        #expect(await machine.ask("broken.example.com").response?.extendedError?.code == .cachedError)
        #expect(machine.vendor.asked.count == asked)
    }

    /// A machine whose vendor failed, and may be probed now; each of `names` is asked for at once.
    @Loop
    private func probedMachine(
        of names: [String], mode: Mode = .httpdnsOnly, _ behaviour: FakeBehaviour
    ) async -> (machine: Machine, replies: [Reply]) {
        let machine = Machine(policy: RoutePolicy(mode: mode))
        machine.failEverything()
        _ = await machine.ask()
        await machine.clock.advance(by: .seconds(2))
        machine.vendor.behaviour = behaviour
        machine.localDNS.behaviour = .addresses("203.0.113.9")
        let replies = names.map { _ in Reply(clock: machine.clock) }
        for (name, reply) in zip(names, replies) { machine.start(name, .a, reply) }
        await machine.clock.advance(by: .zero)
        return (machine, replies)
    }

    @Test @Loop
    func `questions that come while the vendor is probed are asked as soon as it is back`() async {
        let (machine, replies) = await probedMachine(
            of: ["a.example", "b.example", "c.example"], .addresses("192.0.2.1", after: .milliseconds(100)))
        #expect(machine.vendor.probes.count == 2)
        await machine.clock.advance(by: .milliseconds(100))
        #expect(machine.vendor.asked.count == 1 + 3)
        await machine.clock.advance(by: .milliseconds(100))
        #expect(replies.allSatisfy { $0.has("192.0.2.1") })
    }

    @Test @Loop
    func `a vendor that is not back is probed once, and all questions that waited for that fail at once`() async {
        let (machine, replies) = await probedMachine(
            of: ["a.example", "b.example"], .failure(.network("refused"), after: .milliseconds(400)))
        await machine.clock.advance(by: .milliseconds(399))
        #expect(replies.allSatisfy { $0.response == nil })
        await machine.clock.advance(by: .milliseconds(1))
        #expect(replies.allSatisfy { $0.failure == .serverFailure })
        #expect(machine.vendor.asked.count == 1 && machine.vendor.probes.count == 2)
    }

    @Test @Loop
    func `once an older answer is removed, what had failed for its sake is asked for again`() async {
        let machine = Machine()
        _ = await machine.ask()
        machine.vendor.behaviour = .failure(.network("refused"))
        machine.localDNS.behaviour = .addresses("203.0.113.9")
        await machine.clock.advance(by: .seconds(700))
        #expect(await machine.ask().has("192.0.2.1"))
        #expect(await machine.resolver.remove(.all) > 0)
        #expect(await machine.ask().has("203.0.113.9"))
    }

    @Test @Loop
    func `once an older answer may not be used any more, what had failed for its sake is asked for again`() async {
        let machine = Machine(freshness: FreshnessPolicy(staleMax: .zero))
        machine.vendor.behaviour = .addresses("192.0.2.1", ttl: 60)
        _ = await machine.ask()
        machine.vendor.behaviour = .failure(.responseCode(.refused))
        machine.localDNS.behaviour = .addresses("203.0.113.9")
        await machine.clock.advance(by: .milliseconds(59_500))
        // The second question refreshes it.
        for _ in 0..<2 { #expect(await machine.ask().has("192.0.2.1")) }
        await machine.clock.advance(by: .milliseconds(400))
        let count = machine.localDNS.asked.count
        #expect(count > 0)
        await machine.clock.advance(by: .milliseconds(99))
        #expect(await machine.ask().has("192.0.2.1"))
        await machine.clock.advance(by: .zero)
        #expect(machine.localDNS.asked.count == count)
        await machine.clock.advance(by: .milliseconds(1))
        #expect(await machine.ask().has("203.0.113.9"))
    }

    @Test @Loop
    func `special names never reach a source`() async {
        let machine = Machine()
        #expect(await machine.ask("localhost").has("127.0.0.1"))
        #expect(await machine.ask("printer.local").packed?.responseCode == .nameError)
        #expect(machine.vendor.asked.isEmpty && machine.localDNS.asked.isEmpty)
    }

    @Test @Loop
    func `an answer with TTL 0 reaches the client and is not cached`() async {
        let machine = Machine()
        machine.vendor.behaviour = .addresses("192.0.2.1", ttl: 0)
        #expect(await machine.ask().has("192.0.2.1"))
        #expect(await machine.ask().has("192.0.2.1"))
        #expect(machine.vendor.asked.count == 2)
    }

    @Test(arguments: [false, true]) @Loop
    func `a family that does not exist is NODATA when the other one has addresses, unless signatures are asked for`(
        signed: Bool
    ) async {
        let machine = Machine(policy: RoutePolicy(mode: .localDNSOnly))
        let a = UpstreamResult.answer(Answer(name: .root, addresses: [.v4(0xc000_0201)], ttl: 60))
        machine.localDNS.behaviour = .reply(
            after: .zero, [.a: a, .aaaa: .answer(.negative(.nameError, name: .root, ttl: 60))])
        machine.localDNS.slow = [.a: .milliseconds(100)]
        let replies = (a: Reply(clock: machine.clock), aaaa: Reply(clock: machine.clock))
        machine.start("www.example.com", .a, replies.a, signed: signed)
        machine.start("www.example.com", .aaaa, replies.aaaa, signed: signed)
        await machine.clock.advance(by: .milliseconds(100))
        #expect(replies.a.has("192.0.2.1"))
        #expect(replies.aaaa.packed?.counts == .init(authority: 1))
        #expect(replies.aaaa.packed?.responseCode == (signed ? .nameError : .noError))
    }
}

extension ResolverEvent {
    /// Whether it says what a client got.
    fileprivate var isOfAnswer: Bool {
        switch self {
        case .answerFailed, .answerStale, .answerPreset: true
        default: false
        }
    }
}
