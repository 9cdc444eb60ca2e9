package import DNSCache
package import DNSWire
package import Scheduling

/// One question from the miss in the cache to the answer: the whole way on one screen (Documentation/Architecture.md, steps 5 to 11).
@Loop
package final class Resolver {
    /// As configured, whether switched off or not.
    private var configured: ResolverPolicy
    /// In force.
    private(set) var policy: ResolverPolicy
    /// Whether HTTPDNS is used at all.
    package private(set) var isOn = true
    let cache: AnswerStore
    let coalescer: Coalescer
    let repair: AnswerRepair
    let failures = FailureMemory()
    let fallbackAnswers: FallbackAnswers
    let background = BackgroundLookups()
    /// The names that are asked to see whether LocalDNS leads back here.
    package nonisolated let probes = LoopProbes()
    let clock: any LoopClock
    let report: @Loop (ResolverEvent) -> Void

    /// How many stale answers were given since the start.
    package private(set) var staleAnswers = 0
    /// How many answers came from `[preset] last_resort`.
    package private(set) var lastResortAnswers = 0
    /// How many answers were asked for again before they expired.
    package internal(set) var refreshes = 0

    /// - Parameters:
    ///   - cache: made with the sources of `policy`.
    ///   - flightLimit: the most flights at once.
    ///   - report: told of every flight that fails, and of every stale answer.
    package nonisolated init(
        policy: ResolverPolicy, cache: AnswerStore, clock: any LoopClock, flightLimit: Int = Coalescer.flightLimit,
        report: @escaping @Loop (ResolverEvent) -> Void = { _ in }
    ) {
        self.report = report
        configured = policy
        self.policy = policy
        self.cache = cache
        self.clock = clock
        fallbackAnswers = FallbackAnswers(cache: cache)
        coalescer = Coalescer(clock: clock, limit: flightLimit)
        repair = AnswerRepair(cache: cache, clock: clock)
    }

    /// How many flights are under way, and how many clients wait for them.
    package var load: (flights: Int, waiters: Int) { coalescer.load }

    /// Whether what is under way waits for room at a source: more of it can only wait behind that.
    package var isBacklogged: Bool { policy.strategy.isBacklogged }

    /// How many names are given by hand, and how many for when nobody else can answer.
    package var presetCounts: (always: Int, lastResort: Int) {
        (policy.localAnswers.presets.count, policy.lastResort.count)
    }

    /// Answers by another policy from now on, also those who wait already: what is under way for them is given up.
    ///
    /// - Parameters:
    ///   - freshness: how long answers are kept from now on.
    ///   - isNewGeneration: whether questions must be decided anew; not when routes, sources and clients are the same,
    ///     and then flights go on.
    package func replace(with policy: ResolverPolicy, freshness: FreshnessPolicy, isNewGeneration: Bool) {
        configured = policy
        cache.adopt(policy.sources, freshness)
        putInForce(isNewGeneration: isNewGeneration)
    }

    /// Switches HTTPDNS on or off for all questions from now on. The answers of one state are not used in the other.
    package func turn(on isOn: Bool) {
        guard isOn != self.isOn else { return }
        self.isOn = isOn
        putInForce(isNewGeneration: true)
    }

    /// Begins anew in another network: all answers so far count as stale, it is forgotten which questions failed, and who
    /// waits for a flight under way goes over to a new one.
    package func networkChanged() {
        failures.forgetAll()
        cache.beginNetwork()
        coalescer.abandonAll()
    }

    private func putInForce(isNewGeneration: Bool) {
        policy = isOn ? configured : configured.switchedOff
        guard isNewGeneration else { return }
        // After the policy: whoever sees the new number gets the new policy.
        cache.beginGeneration()
        coalescer.abandonAll()
    }

    /// The route of a name, in any letter case, by the policy in force.
    package func route(of name: Name) -> Route { policy.routes.route(for: name.lowercased) }

    /// Has `reply` called with the answer to one client's question, by `Budget.answer` after the query's arrival; at once
    /// where nothing must be waited for.
    ///
    /// A client that waits while the policy is replaced, or the network, is answered by the new one.
    package func respond(to client: ClientQuestion, reply: @escaping @Loop (Response) -> Void) {
        if client.question.isForAny { return respondToAny(client, reply: reply) }
        if let response = answeredHere(client) { return reply(response) }
        guard givesWay(client) || cache.mayRecall && cache.mustRecall(cacheKey(for: client)) else {
            return lookUp(client, reply)
        }
        let generation = cache.generation
        Loop.spawn { [self] in
            let preferred = await preferredInstead(of: client)
            if preferred == nil { await cache.recall(cacheKey(for: client)) }
            guard generation == cache.generation else { return respond(to: client, reply: reply) }
            if let preferred { reply(preferred) } else { lookUp(client, reply) }
        }
    }

    /// What nobody else need be asked for.
    private func answeredHere(_ client: ClientQuestion) -> Response? {
        if probes.take(client.question.name) { return Response(.failure(.nameError)) }
        if let subject = client.question.provenanceSubject { return answer(explain(subject, to: client), to: client) }
        return policy.localAnswers.reply(to: client.question, policy: policy.routes, isSigned: client.isSigned)
            .map { answer($0, to: client) }
    }

    /// The answer of the cache or of the sources to a client's question; by the new policy, if it is replaced meanwhile.
    func lookUp(_ client: ClientQuestion, _ reply: @escaping @Loop (Response) -> Void) {
        let type = client.question.type
        let key = flightKey(for: client)
        let kept = cache.kept(for: client, key)
        if let kept, kept.isFresh {
            if kept.isEnding, cache.claimRefresh(client.key.scoped(to: key.scope)) { refreshAhead(key, type) }
            return reply(kept.response)
        }
        if let error = remembered(key, type) {
            if kept == nil, case .answer(let answer)? = cache.keepFailedFamily(key, type) {
                return reply(Response(.answer(answer, age: 0)))
            }
            return reply(stale(kept, client.question, key.route, or: .cachedError, error.text))
        }
        guard let flight = join(key) else {
            let reason = "too many questions are under way"
            report(.overloaded(reason: reason))
            return reply(stale(kept, client.question, key.route, or: .other, reason))
        }
        flight.wait(for: type, until: client.arrived + wait(for: key, kept)) { [self] outcome, source in
            guard flight.key.generation == cache.generation, !flight.isAbandoned else {
                return respond(to: client, reply: reply)
            }
            switch outcome {
            case .answer(let answer)?:
                reply(Response(.answer(answer, age: 0), from: source.map(Response.Origin.source) ?? .ourselves))
            case .failure(let error)?:
                reply(stale(kept, client.question, flight.key.route, or: error.code, error.text))
            case nil:
                reply(stale(kept, client.question, flight.key.route, or: .noReachableAuthority, "no answer in time"))
            }
        }
    }

    /// How long a client waits for a flight before it gets what is cached, if anything is.
    private func wait(for key: FlightKey, _ kept: AnswerStore.Kept?) -> Duration {
        guard let wait = kept?.wait else { return Budget.answer }
        // While no provider can be asked, hardly anything new will come.
        return policy.strategy.outlook(for: key) == .usable ? wait : min(wait, cache.staleWait)
    }

    /// Why a question failed just now and is not asked again; nil too when it would begin the probe of a provider.
    func remembered(_ key: FlightKey, _ type: RecordType) -> ExtendedError? {
        let recoveries = policy.strategy.recoveries(for: key)
        let error = failures.remembered(key, type, at: clock.now, recoveries: recoveries)
        return error == nil || policy.strategy.outlook(for: key) == .probeDue ? nil : error
    }

    /// The flight that asks; nil when there is no room for one, or for one more who waits.
    func join(_ key: FlightKey) -> Flight? {
        coalescer.join(key) { FlightWork($0, by: policy, of: self).begin() }
    }

    /// The stale answer if there is one that can be trusted, else the preset of last resort, any stale answer, SERVFAIL.
    private func stale(
        _ kept: AnswerStore.Kept?, _ question: Question, _ route: Route, or code: ExtendedError.Code, _ text: String
    ) -> Response {
        let kept = kept.flatMap { isFoundOut($0, question, route) ? nil : $0 }
        let isProven = kept?.isTrusted ?? false || !policy.routes.prefersProviders(route)
        if kept == nil || !isProven, let response = lastResort(for: question) {
            lastResortAnswers += 1
            report(.answerPreset(question, route, reason: text))
            return response
        }
        guard let kept else { return Response(.failure(.serverFailure), extendedError: ExtendedError(code, text)) }
        staleAnswers += 1
        report(.answerStale(question, route, reason: text))
        return kept.response
    }

    /// Whether what was kept is LocalDNS's word, and a certificate has shown it to be a lie since.
    private func isFoundOut(_ kept: AnswerStore.Kept, _ question: Question, _ route: Route) -> Bool {
        guard !kept.isTrusted, let check = policy.strategy.answerCheck, case .stale(let answer) = kept.response.content
        else { return false }
        return check.isFoundOut(answer, to: question, by: route)
    }

    private func lastResort(for question: Question) -> Response? {
        // The TTL of a stale answer, for the same reason: somebody may be able to answer soon.
        guard let answer = policy.lastResort.answer(to: question, ttl: Reply.staleTTL),
            let packed = PackedAnswer(answer, for: question)
        else { return nil }
        return Response(
            .answer(packed, age: 0), extendedError: ExtendedError(.other, "preset of last resort"),
            from: .source(cache.tag(of: .preset)))
    }

    /// What is asked for a client.
    func flightKey(for client: ClientQuestion) -> FlightKey {
        flightKey(
            client.question.name, client.question.type, dnssecOK: client.dnssecOK,
            checkingDisabled: client.checkingDisabled, for: client)
    }

    /// For which clients an answer holds that this one gets; nil for all.
    func scope(of client: ClientQuestion) -> ClientScope? {
        guard policy.strategy.clientScoping != nil else { return nil }
        let name = client.question.name.lowercased
        return policy.strategy.scope(of: client, name: name, route: policy.routes.route(for: name))
    }

    /// What an answer for a client is found by in the cache.
    func cacheKey(for client: ClientQuestion) -> QueryKey {
        scope(of: client).map { client.key.scoped(to: $0) } ?? client.key
    }

    /// What is asked for a name and type by the policy in force.
    ///
    /// - Parameter client: nil: for nobody.
    func flightKey(
        _ name: Name, _ type: RecordType, dnssecOK: Bool = false, checkingDisabled: Bool = false,
        for client: ClientQuestion? = nil
    ) -> FlightKey {
        let name = name.lowercased
        let route = policy.routes.route(for: name)
        let signed = dnssecOK || checkingDisabled
        let types = policy.strategy.types(for: type, name: name, route: route, signed: signed)
        return FlightKey(
            name: name, types: signed ? types : policy.localAnswers.families.limiting(types, for: type),
            route: route, dnssecOK: dnssecOK, checkingDisabled: checkingDisabled,
            scope: policy.strategy.scope(of: client, name: name, route: route), holder: client?.network ?? .daemon,
            generation: cache.generation)
    }
}

extension Resolver {
    /// What is answered here; what the configuration says is kept where the UDP threads find it.
    private func answer(_ reply: LocalAnswers.Reply, to client: ClientQuestion) -> Response {
        let packed: PackedAnswer?
        var origin = Response.Origin.ourselves
        switch reply {
        case .refusal(let code, let error): return Response(.failure(code), extendedError: error)
        case .answer(let answer): packed = PackedAnswer(answer, for: client.question)
        case .configured(let answer, let source):
            packed = cache.keepLocal(answer, for: client, source)
            origin = .source(cache.tag(of: source))
        }
        return Response(packed.map { .answer($0, age: 0) } ?? .failure(.serverFailure), from: origin)
    }
}
