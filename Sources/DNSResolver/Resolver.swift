public import DNSCache
public import DNSWire

/// Resolves one question from the cache miss to the answer (Documentation/Architecture.md, steps 5 to 14).
@Loop
public final class Resolver {
    /// As configured, whether HTTPDNS is switched off or not.
    private var configured: ResolverPolicy
    /// Whether HTTPDNS is used at all.
    public private(set) var isOn = true
    private let store: AnswerStore
    let flights: Flights
    private let background: BackgroundLookups
    /// The names that are queried to detect forwarding loops through LocalDNS.
    public nonisolated let probes = LoopProbes()
    private let clock: any LoopClock
    private let report: @Loop (ResolverEvent) -> Void

    /// The most flights at once.
    public nonisolated static let flightLimit = 10_000

    /// Where the configuration has the entry that decides about a name, for operators; nil where it has none.
    public var placeOfRule: @Loop (RoutingRule) -> String? = { _ in nil }
    /// How many stale answers were given since the start.
    public private(set) var staleAnswers = 0
    /// How many answers came from `[preset] last_resort`.
    public private(set) var lastResortAnswers = 0
    /// How many questions were not asked since too many were under way.
    public private(set) var overloads = 0

    /// - Parameters:
    ///   - store: made with the sources of `policy`.
    ///   - report: called for every flight whose clients get SERVFAIL, and every stale answer.
    public nonisolated init(
        policy: ResolverPolicy, store: AnswerStore, clock: any LoopClock, flightLimit: Int = Resolver.flightLimit,
        report: @escaping @Loop (ResolverEvent) -> Void = { _ in }
    ) {
        self.report = report
        configured = policy
        self.store = store
        self.clock = clock
        flights = Flights(policy, store: store, clock: clock, limit: flightLimit)
        background = BackgroundLookups(flights)
    }

    private var policy: ResolverPolicy { flights.policy }

    /// How many flights are under way, and how many clients wait for them.
    public var load: (flights: Int, waiters: Int) {
        (flights.coalescer.count, flights.coalescer.all.reduce(0) { $0 + $1.waiterCount })
    }

    /// How many answers were prefetched before they expired.
    public var refreshes: Int { background.refreshes }

    /// Looks up the names of `[preset] preresolve` that have no fresh answer, both families, in the background.
    public func preresolve() { background.preresolve() }

    /// Whether a request waits for a free slot at a source: further ones can only queue behind it.
    public var isBacklogged: Bool { policy.lines.isBacklogged }

    /// The answers that need no source, by the policy in force.
    public var localAnswers: LocalAnswers { policy.localAnswers }

    /// How many names have preset addresses, and how many have addresses of last resort.
    public var presetCounts: (always: Int, lastResort: Int) {
        (policy.localAnswers.presets.count, policy.lastResort.count)
    }

    /// Answers by another policy from now on, including clients that wait already: flights under way that it touches are
    /// abandoned.
    ///
    /// - Parameter change: what it has that the policy before had not.
    public func replace(with policy: ResolverPolicy, freshness: FreshnessPolicy, change: PolicyChange) {
        configured = policy
        store.adopt(policy, freshness)
        putInForce(change)
    }

    /// Switches HTTPDNS on or off for all questions from now on. The answers of one state are not used in the other.
    public func turn(on isOn: Bool) {
        guard isOn != self.isOn else { return }
        self.isOn = isOn
        putInForce(.sources)
    }

    /// Restarts in another network: all answers so far count as stale, remembered failures are dropped, and the clients
    /// that wait for a flight under way join a new one.
    public func networkChanged() {
        store.failures.forgetAll()
        store.beginNetwork()
        flights.abandonAll()
    }

    /// Removes answers of every type. What has failed is forgotten with them: it may have failed since an older answer went
    /// before what LocalDNS said. Returns how many.
    public func remove(_ removal: AnswerRemoval) async -> Int {
        defer { forgetFailures() }
        return await store.walks.remove(removal)
    }

    private func forgetFailures() {
        store.failures.forgetAll()
        for flight in flights.coalescer.all { flight.forgetRemoved() }
    }

    private func putInForce(_ change: PolicyChange) {
        flights.policy = isOn ? configured : configured.switchedOff
        guard change != .nothing else { return }
        store.failures.forgetAll()
        // After the policy: a thread that sees the new number gets the new policy.
        store.beginGeneration()
        flights.abandonAll { change == .names && $0.isDecidedAlike(by: flights.policy) }
    }

    /// Limits the misses of each client network from now on; nil: nothing does.
    public func limitMisses(_ limits: MissLimits?) { flights.brake.limits = limits }

    /// Whether a client network has used a quarter of what it may ask for at once.
    public func isNearBrake(_ question: Question, of network: ClientNetwork) -> Bool {
        flights.brake.isNear(question.name, of: network, at: clock.now)
    }

    /// How many misses were refused since the start.
    public var refusedMisses: Int { flights.brake.refused }

    /// The route of a name's addresses, in any letter case, by the policy in force.
    public func route(of name: Name) -> Route { policy.routes.route(for: name.lowercased, .a) }

    /// Whether a question is about the Internet alone, so that those outside of the network may ask it: the lists protect
    /// its name, and neither the configuration nor this server has an answer of its own.
    public func isPublic(_ question: Question) -> Bool {
        let name = question.name.lowercased
        return question.class == .internet && SpecialUseNames.rule(for: name) == nil
            && configured.localAnswers.presets.addresses(of: name) == nil
            && configured.routes.isPublic(name, question.type)
    }

    /// Where cached answers came from, and what decides about names.
    public var provenance: Provenance { Provenance(flights, configured: configured, placeOfRule: placeOfRule) }

    /// Answers a question as that of a client of this machine, and tells how.
    ///
    /// Sources are asked, and their answers cached, as for any client.
    public func trace(_ question: Question) async -> (trace: Trace, response: Response) {
        let trace = Trace(clock: clock)
        trace.add(.route, provenance.decision(on: question))
        if !isOn { trace.add(.route, "HTTPDNS is switched off") }
        let client = ClientQuestion(
            question: question, client: .v4(0x7f00_0001), arrived: clock.now, trace: trace)
        let response = await response(to: client)
        let source = provenance.sourceName(response.kind, response.source)
        trace.add(.answer, "\(response.traceText(for: question)); \(source.pairs)")
        return (trace, response)
    }

    /// Calls `reply` with the response to one client's question, by `Budget.answer` after the query's arrival; at once
    /// where nothing must be waited for, but of type ANY.
    ///
    /// A client that waits while the policy is replaced, or the network changes, is answered by the new one.
    public func respond(to client: ClientQuestion, reply: @escaping @Loop (Response) -> Void) {
        if client.question.class == .any { return respond(to: client.asking(for: client.question.type), reply: reply) }
        if client.question.class == .internet, client.question.type == .any {
            Loop.spawn { [self] in reply(await responseToAny(client)) }
            return
        }
        if let response = answeredHere(client) { return reply(response) }
        let key = flights.key(client.question.name, client.question.type, for: client)
        guard store.mustRecall(key, client.question.type) else { return lookUp(client, key, reply) }
        Loop.spawn { [self, generation = store.generation] in
            let isRecalled = await store.recall(key, client.question.type)
            if isRecalled { client.trace.note(.cache, "read from the cache file") }
            guard generation == store.generation else { return respond(to: client, reply: reply) }
            lookUp(client, key) { reply(isRecalled ? $0.recalled : $0) }
        }
    }

    private func response(to client: ClientQuestion) async -> Response {
        await withCheckedContinuation { continuation in
            respond(to: client) { continuation.resume(returning: $0) }
        }
    }

    private func responseToAny(_ client: ClientQuestion) async -> Response {
        async let a = response(to: client.asking(for: .a))
        async let aaaa = response(to: client.asking(for: .aaaa))
        return await .any(client.question.name, of: a, and: aaaa)
    }

    /// The response that needs no source and no cache look-up; nil when there is none.
    private func answeredHere(_ client: ClientQuestion) -> Response? {
        if probes.received(client.question.name) { return Response(.failure(.nameError)) }
        if client.question.class == .chaos, let subject = client.question.provenanceSubject {
            return answer(provenance.reply(about: subject, to: client), to: client)
        }
        return policy.localAnswers.reply(to: client.question, policy: policy.routes, isSigned: client.isSigned)
            .map { answer($0, to: client) }
    }

    /// Answers a client's question from the cache or the sources; by the new policy, if it is replaced meanwhile.
    private func lookUp(_ client: ClientQuestion, _ key: FlightKey, _ reply: @escaping @Loop (Response) -> Void) {
        let type = client.question.type
        let cached = store.cached(key, type)
        client.trace.note(.cache, provenance.text(of: cached, type, key))
        if let cached, case .fresh(let isEnding) = cached.age {
            store.share(cached, key, with: client)
            if isEnding, store.claimRefresh(key, type) { background.prefetch(key, type) }
            return reply(cached.response)
        }
        if let error = flights.remembered(key, type, hasStale: cached != nil) {
            client.trace.note(.cache, "\(type) failed just now, and is not asked again yet: \(error.text)")
            return reply(stale(cached, client.question, key.route, or: .cachedError, error.text))
        }
        // A name that was answered before is no flood of new ones.
        if cached == nil, let (reason, event) = flights.refusal(of: key, type) {
            report(event)
            return reply(stale(cached, client.question, key.route, or: .other, reason))
        }
        if client.trace != nil, let flight = flights.coalescer.flight(for: key), flight.key.trace !== client.trace {
            client.trace.note(.ask, "another client's question for the name is under way: its result is awaited")
        }
        let isAsked = flights.ask(key, type, arrived: client.arrived) { [self] outcome in
            switch outcome {
            case .given(let response)?: reply(response)
            case .missing(let stale, let error)?:
                reply(self.stale(stale, client.question, key.route, or: error.code, error.text, for: key))
            case nil: respond(to: client, reply: reply)
            }
        }
        guard !isAsked else { return }
        let reason = "too many questions are under way"
        overloads += 1
        report(.overloaded(reason: reason))
        reply(stale(cached, client.question, key.route, or: .other, reason))
    }

    /// Ranks 3, 4 and 6: the stale answer, the preset of last resort, SERVFAIL.
    ///
    /// - Parameter flight: the key of the flight whose failure is reported once, whatever the number of clients; nil: it is
    ///   not reported.
    private func stale(
        _ cached: AnswerStore.Cached?, _ question: Question, _ route: Route, or code: ExtendedError.Code,
        _ text: String, for flight: FlightKey? = nil
    ) -> Response {
        if let cached {
            staleAnswers += 1
            report(.answerStale(question, route, reason: text))
            return cached.response
        }
        if let response = lastResort(for: question) {
            lastResortAnswers += 1
            report(.answerPreset(question, route, reason: text))
            return response
        }
        // Nothing else may answer these, and with SERVFAIL a browser may give up.
        if policy.lines.isGuarded(question.type, by: route), let none = noBinding(for: question) { return none }
        if let flight { reportFailure(of: Question(name: flight.name, type: question.type), flight, route, text) }
        return Response(.failure(.serverFailure), extendedError: ExtendedError(code, text))
    }

    private func noBinding(for question: Question) -> Response? {
        PackedAnswer(.negative(name: question.name, ttl: FlightAnswers.madeTTL), for: question)
            .map { Response(.answer($0, age: 0), source: store.rules.tag(of: .rule)) }
    }

    private func reportFailure(of question: Question, _ key: FlightKey, _ route: Route, _ text: String) {
        guard let flight = flights.coalescer.flight(for: key), !flight.isFailureReported else { return }
        flight.isFailureReported = true
        report(.answerFailed(question, route, reason: text))
    }

    private func lastResort(for question: Question) -> Response? {
        // The TTL of a stale answer, for the same reason: a source may be able to answer soon.
        guard let answer = policy.lastResort.answer(to: question, ttl: Reply.staleTTL),
            let packed = PackedAnswer(answer, for: question)
        else { return nil }
        return Response(
            .answer(packed, age: 0), extendedError: ExtendedError(.other, "preset of last resort"),
            from: .preset, source: store.rules.tag(of: .preset))
    }

    /// The response for a local answer; one from the configuration is cached where the UDP threads find it.
    private func answer(_ reply: LocalAnswers.Reply, to client: ClientQuestion) -> Response {
        let packed: PackedAnswer?
        var tag: UInt16?
        switch reply {
        case .refusal(let code, let error): return Response(.failure(code), extendedError: error)
        case .answer(let answer): packed = PackedAnswer(answer, for: client.question)
        case .configured(let answer, let source):
            packed = store.keepLocal(answer, for: client, source)
            tag = store.rules.tag(of: source)
        }
        return Response(packed.map { .answer($0, age: 0) } ?? .failure(.serverFailure), from: reply.kind, source: tag)
    }
}
