import DNSCache
import DNSWire
import TestSupport
import TestUpstreams

@testable import DNSResolver

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
        translation: Translation = .none, takesCheckingDisabled: Bool = false, anyType: Bool = false,
        isAuthenticated: Bool = true, guardsServiceBindings: Bool = true, others: [any Provider] = []
    ) {
        vendor = FakeUpstream("vendor", .addresses("192.0.2.1", "2001:db8::1"), clock: clock)
        localDNS = FakeUpstream("localdns", .addresses("203.0.113.9", "2001:db8::9"), clock: clock)
        provider = FakeProvider(
            "vendor", addresses: [vendor], answersBothFamilies: answersBothFamilies, anyType: anyType,
            names: vendorNames, isAuthenticated: isAuthenticated, clientScoping: scoping,
            takesCheckingDisabled: takesCheckingDisabled)
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
                certificateCheck: check, unverified: unverified, guardsServiceBindings: guardsServiceBindings),
            sources: sources, lastResort: lastResort, preresolve: preresolve, translation: translation)
        store = AnswerStore(
            memory: memory, freshness: freshness, generation: generation, policy: self.policy,
            badAddresses: badAddresses, clock: clock)
        resolver = Resolver(policy: self.policy, store: store, clock: clock, flightLimit: flightLimit) { [heard] in
            heard.events.append($0)
        }
    }

    /// Asks, and moves time on until there is an answer.
    func ask(
        _ name: String = "www.example.com", _ type: RecordType = .a, signed: Bool = false,
        checkingDisabled: Bool = false, from client: IPAddress = .v4(0x7f00_0001), hidesNetwork: Bool = false
    ) async -> ClientReply {
        let reply = start(
            name, type, signed: signed, checkingDisabled: checkingDisabled, from: client, hidesNetwork: hidesNetwork)
        await clock.advance(by: .zero)
        while reply.response == nil, clock.now - reply.asked < .seconds(5) {
            await clock.advance(by: .milliseconds(100))
        }
        return reply
    }

    /// Asks without waiting.
    ///
    /// - Parameter waiting: how long the query had waited before it was read.
    @discardableResult
    func start(
        _ name: String = "www.example.com", _ type: RecordType = .a, class: RecordClass = .internet,
        signed: Bool = false, checkingDisabled: Bool = false, from client: IPAddress = .v4(0x7f00_0001),
        hidesNetwork: Bool = false, after waiting: Duration = .zero
    ) -> ClientReply {
        let reply = ClientReply(clock: clock)
        let question = Question(name: (try? Name(name)) ?? .root, type: type, class: `class`)
        let client = ClientQuestion(
            question: question, dnssecOK: signed, checkingDisabled: checkingDisabled, client: client,
            hidesNetwork: hidesNetwork, arrived: clock.now - waiting)
        resolver.respond(to: client) { [clock] in
            reply.response = $0
            reply.answered = clock.now
        }
        return reply
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

    /// Puts the policy in force again as a reload does, with what is given instead of its own.
    func reload(
        local: LocalAnswers? = nil, routes: RoutePolicy? = nil, lines: SourceLines? = nil, sources: SourceTags? = nil,
        lastResort: Presets? = nil, translation: Translation = .none, change: PolicyChange = .sources
    ) {
        resolver.replace(
            with: ResolverPolicy(
                localAnswers: local ?? policy.localAnswers, routes: routes ?? policy.routes,
                lines: lines ?? policy.lines, sources: sources ?? policy.sources,
                lastResort: lastResort ?? policy.lastResort,
                translation: translation),
            freshness: FreshnessPolicy(), change: change)
    }

    /// Removes answers from the cache.
    ///
    /// - Returns: how many there were.
    func remove(_ removal: AnswerRemoval) async -> Int {
        let removing = Task { @Loop in await store.walks.remove(removal) }
        await clock.advance(by: .seconds(1))
        return await removing.value
    }

    /// Makes every upstream silent.
    func silenceEverything() { (vendor.behaviour, localDNS.behaviour) = (.silence, .silence) }

    /// Makes every upstream fail.
    func failEverything() {
        vendor.behaviour = .failure(.network("refused"))
        localDNS.behaviour = .failure(.network("unreachable"))
    }
}

/// What one client received.
@Loop
final class ClientReply {
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

    /// Whether the name has no record of the type.
    var isNoData: Bool { packed?.responseCode == .noError && packed?.counts == .init(authority: 1) }

    /// Whether the answer section holds this address, by its bytes.
    func has(_ address: String) -> Bool {
        guard let bytes = IPAddress(address)?.bytes, let body = packed?.body else { return false }
        return body.indices.contains { body[$0...].starts(with: bytes) }
    }
}
