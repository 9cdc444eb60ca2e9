import DNSCache
import DNSResolver
import DNSWire
import TestSupport
import TestUpstreams
import Testing

/// What a client observes, from a question to its answer, on a clock that the test moves.
@Suite(.onLoop) struct ResolverTests {
    @Test @Loop func `the resolver has a backlog while requests wait for room at a provider`() {
        let machine = Machine()
        #expect(!machine.resolver.isBacklogged)
        machine.provider.waitingRequests = 1
        #expect(machine.resolver.isBacklogged)
    }

    @Test @Loop func `a question that fails is reported with its reason, once for all waiters`() async throws {
        let machine = Machine()
        machine.failEverything()
        let replies = (0..<3).map { _ in machine.start() }
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

    @Test @Loop func `the second question is answered from the cache, and so is the other family`() async {
        let machine = Machine()
        _ = await machine.ask()
        #expect(await machine.ask().has("192.0.2.1"))
        #expect(await machine.ask("www.example.com", .aaaa).has("2001:db8::1"))
        #expect(machine.vendor.asked.count == 1)
    }

    @Test(arguments: [(false, ExtendedError.Code.networkError), (true, .noReachableAuthority)]) @Loop
    func `when no upstream answers the client gets SERVFAIL with a reason by 2.3 s`(
        isSilent: Bool, code: ExtendedError.Code
    ) async {
        let machine = Machine()
        if isSilent { machine.silenceEverything() } else { machine.failEverything() }
        let reply = await machine.ask()
        #expect(reply.failure == .serverFailure && reply.response?.extendedError?.code == code)
        #expect(reply.waited.map { $0 <= Budget.answer } == true)
    }

    @Test @Loop func `a type that only LocalDNS can answer is cached for its own time`() async {
        let machine = Machine()
        let mail = Record(name: .root, type: .txt, ttl: 3_600, rdata: [1, 65])
        machine.localDNS.behaviour = .reply(after: .zero, [.txt: .answer(Answer(answers: [mail]))])
        _ = await machine.ask("www.example.com", .txt)
        await machine.clock.advance(by: .seconds(3_000))
        #expect(await machine.ask("www.example.com", .txt).packed?.counts == .init(answer: 1))
        #expect(machine.localDNS.asked.count == 1)
    }

    @Test @Loop func `NODATA that the resolver made is made again when its time is over`() async {
        let machine = Machine()
        for _ in 0..<3 {
            let reply = await machine.ask("www.example.com", .https)
            #expect(!reply.isStale && reply.packed?.counts == .init(authority: 1))
            await machine.clock.advance(by: .seconds(40))
        }
    }

    @Test @Loop func `an explicit answer that may not be cached ends the use of the older one`() async {
        let machine = Machine()
        _ = await machine.ask()
        await machine.clock.advance(by: .seconds(70))
        machine.vendor.behaviour = .addresses("192.0.2.7", ttl: 0)
        #expect(await machine.ask().has("192.0.2.7"))
        machine.failEverything()
        #expect(await machine.ask().failure == .serverFailure)
    }

    @Test @Loop func `a question that was refused is not asked again though others succeed`() async {
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

    @Test @Loop func `questions that come while the vendor is probed are asked as soon as it is back`() async {
        let machine = Machine(policy: RoutePolicy(mode: .httpdnsOnly))
        machine.failEverything()
        _ = await machine.ask()
        await machine.clock.advance(by: .seconds(2))
        machine.vendor.behaviour = .addresses("192.0.2.1", after: .milliseconds(100))
        let replies = ["a.example", "b.example", "c.example"].map { machine.start($0) }
        await machine.clock.advance(by: .zero)
        #expect(machine.vendor.probes.count == 2)
        await machine.clock.advance(by: .milliseconds(100))
        #expect(machine.vendor.asked.count == 1 + 3)
        await machine.clock.advance(by: .milliseconds(100))
        #expect(replies.allSatisfy { $0.has("192.0.2.1") })
    }

    @Test @Loop func `once an older answer is removed, what had failed for its sake is asked for again`() async {
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

    @Test @Loop func `an answer with TTL 0 reaches the client and is not cached`() async {
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
        let addresses = UpstreamResult.answer(Answer(name: .root, addresses: [.v4(0xc000_0201)], ttl: 60))
        machine.localDNS.behaviour = .reply(
            after: .zero, [.a: addresses, .aaaa: .answer(.negative(.nameError, name: .root, ttl: 60))])
        machine.localDNS.slow = [.a: .milliseconds(100)]
        let a = machine.start(signed: signed)
        let aaaa = machine.start("www.example.com", .aaaa, signed: signed)
        await machine.clock.advance(by: .milliseconds(100))
        #expect(a.has("192.0.2.1"))
        #expect(aaaa.packed?.counts == .init(authority: 1))
        #expect(aaaa.packed?.responseCode == (signed ? .nameError : .noError))
    }

    @Test(arguments: [false, true]) @Loop func `NODATA of a family that failed says why`(isSilent: Bool) async {
        let machine = Machine(policy: RoutePolicy(mode: .localDNSOnly))
        let addresses = UpstreamResult.answer(Answer(name: .root, addresses: [.v6(1 << 125 | 1)], ttl: 60))
        machine.localDNS.behaviour = .reply(
            after: .zero, [.a: isSilent ? addresses : .failure(.responseCode(.serverFailure)), .aaaa: addresses])
        if isSilent { machine.localDNS.slow = [.a: .seconds(10)] }
        machine.start("www.example.com", .aaaa)
        let reply = await machine.ask()
        #expect(reply.isNoData && reply.response?.extendedError?.code == .noReachableAuthority)
        #expect(reply.response?.extendedError?.text.isEmpty == false)
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
