package import DNSCache
package import DNSWire
package import Scheduling

/// One question from the miss in the cache to the answer: the whole way on one screen (design: steps 3 to 11).
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
    private let repair: AnswerRepair
    let failures = FailureMemory()
    let background = BackgroundLookups()
    /// The names that are asked to see whether LocalDNS leads back here.
    package nonisolated let probes = LoopProbes()
    let clock: any LoopClock
    private let report: @Loop (ResolverEvent) -> Void

    /// How many stale answers were given since the start.
    package private(set) var staleAnswers = 0
    /// How many answers came from `[preset] last_resort`.
    package private(set) var lastResortAnswers = 0
    /// How many answers were asked for again before they expired.
    package internal(set) var refreshes = 0

    /// - Parameters:
    ///   - cache: made with the sources of `policy`.
    ///   - report: told of every flight that fails, and of every stale answer.
    package nonisolated init(
        policy: ResolverPolicy, cache: AnswerStore, clock: any LoopClock,
        report: @escaping @Loop (ResolverEvent) -> Void = { _ in }
    ) {
        self.report = report
        configured = policy
        self.policy = policy
        self.cache = cache
        self.clock = clock
        coalescer = Coalescer(clock: clock)
        repair = AnswerRepair(cache: cache, clock: clock)
    }

    /// How many flights are under way, and how many clients wait for them.
    package var load: (flights: Int, waiters: Int) { coalescer.load }

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
        failures.networkChanged(at: clock.now)
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

    /// The answer to one client's question, by `Budget.answer` after the query's arrival.
    ///
    /// A client that waits while the policy is replaced, or the network, is answered by the new one.
    package func respond(to client: ClientQuestion) async -> Response {
        while true {
            let generation = cache.generation
            let response = await decide(client)
            if generation == cache.generation { return response }
        }
    }

    private func decide(_ client: ClientQuestion) async -> Response {
        if probes.take(client.question.name) { return Response(.failure(.nameError)) }
        if let subject = client.question.provenanceSubject { return answer(explain(subject, to: client), to: client) }
        let local = policy.localAnswers.reply(to: client.question, policy: policy.routes, isSigned: client.isSigned)
        if let local { return answer(local, to: client) }
        if let preferred = await preferredInstead(of: client) { return preferred }
        return await lookUp(client)
    }

    /// The answer of the cache or of the sources to a client's question.
    func lookUp(_ client: ClientQuestion) async -> Response {
        let type = client.question.type
        let key = flightKey(for: client)
        let cacheKey = key.scope == nil ? client.key : client.key.scoped(to: key.scope)
        await cache.recall(cacheKey)
        let kept = cache.kept(cacheKey, route: key.route, at: clock.now)
        if let kept, kept.isFresh {
            if kept.isEnding, cache.claimRefresh(cacheKey) { refreshAhead(key, type) }
            return kept.response
        }
        if let error = remembered(key, type) {
            if kept == nil, case .answer(let answer)? = cache.keepFailedFamily(key, type) {
                return Response(.answer(answer, age: 0))
            }
            return stale(kept, client.question, key.route, or: .cachedError, error.text)
        }
        guard let flight = join(key) else {
            let reason = "too many questions are under way"
            report(.overloaded(reason: reason))
            return stale(kept, client.question, key.route, or: .other, reason)
        }
        switch await flight.outcome(of: type, until: client.arrived + (kept?.wait ?? Budget.answer)) {
        case .answer(let answer)?:
            let origin = flight.source(of: type).map(Response.Origin.source) ?? .ourselves
            return Response(.answer(answer, age: 0), from: origin)
        case .failure(let error)?: return stale(kept, client.question, key.route, or: error.code, error.text)
        case nil: return stale(kept, client.question, key.route, or: .noReachableAuthority, "no answer in time")
        }
    }

    /// Why a question failed just now and is not asked again; nil too when it may be what tries a provider again.
    func remembered(_ key: FlightKey, _ type: RecordType) -> ExtendedError? {
        let recoveries = policy.strategy.recoveries(for: key)
        let error = failures.remembered(key, type, at: clock.now, recoveries: recoveries)
        return error == nil || policy.strategy.awaitsTrial(key) ? nil : error
    }

    /// The flight that asks; nil when there is no room for one, or for one more who waits.
    func join(_ key: FlightKey) -> Flight? {
        coalescer.join(key) { [policy] in await self.fly($0, by: policy) }
    }

    /// The stale answer if there is one that can be trusted, else the preset of last resort, any stale answer, SERVFAIL.
    private func stale(
        _ kept: AnswerStore.Kept?, _ question: Question, _ route: Route, or code: ExtendedError.Code, _ text: String
    ) -> Response {
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
        let name = client.question.name.lowercased
        return policy.strategy.scope(of: client, name: name, route: policy.routes.route(for: name))
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
            name: name, types: types.filter { $0 == type || signed || !policy.localAnswers.families.excludes($0) },
            route: route, dnssecOK: dnssecOK, checkingDisabled: checkingDisabled,
            scope: policy.strategy.scope(of: client, name: name, route: route), generation: cache.generation)
    }

    /// What one flight does: asks the sources, keeps what they tell, wakes the waiters.
    ///
    /// - Parameter mode: for this flight; nil: the policy's.
    private func fly(_ flight: Flight, by policy: ResolverPolicy, mode: Mode? = nil) async {
        let key = flight.key
        flight.recoveries = policy.strategy.recoveries(for: key)
        let sources = policy.sources
        var failed: [RecordType: UpstreamFailure] = [:]
        var denied: [RecordType: (answer: Answer, source: Source, server: String)] = [:]
        var unchecked: [RecordType: AnswerRepair.Told] = [:]
        var bindings: [RecordType: (answer: Answer, source: Source, server: String)] = [:]
        let prefersProviders = policy.routes.prefersProviders(key.route) || mode == .httpdnsFirst
        await policy.strategy.run(key, mode: mode) { [self] type, result, source, server in
            switch result {
            case .answer(let answer) where !prefersProviders && policy.strategy.isUnchecked(answer, key, type, source):
                unchecked[type] = AnswerRepair.Told(answer: answer, server: server)
                finish(
                    flight, type,
                    with: preferring(key, type, by: policy) { cache.keepUnchecked(answer, for: key, type, server) },
                    source: sources.tag(of: source))
            case .answer(let answer) where answer.responseCode == .nameError && key.mayFitFamilies(type):
                denied[type] = (answer, source, server)
            case .answer(let answer) where policy.strategy.isGuarded(key):
                bindings[type] = (answer, source, server)
            case .answer(let answer):
                finish(
                    flight, type,
                    with: keep(answer, for: key, type, source, server, by: policy, prefersProviders: prefersProviders),
                    source: sources.tag(of: source))
            case .unknownEmpty(let ttl):
                finish(flight, type, with: keepEmpty(ttl: ttl, for: key, type, by: policy))
            case .failure(let failure):
                failed[type] = failure
            }
        }
        for (type, (answer, source, server)) in bindings {
            guard let answer = await fit(answer, for: key, type) else {
                finish(flight, type, with: cache.keepEmpty(ttl: nil, for: key, type))
                continue
            }
            finish(
                flight, type,
                with: keep(answer, for: key, type, source, server, by: policy, prefersProviders: prefersProviders),
                source: sources.tag(of: source))
        }
        for (type, (answer, source, server)) in denied {
            await coalescer.otherFamily(of: flight, type, until: clock.now + Budget.hedge)
            var answer = answer
            if cache.hasOtherFamily(key, type) { answer.responseCode = .noError }
            finish(
                flight, type,
                with: keep(answer, for: key, type, source, server, by: policy, prefersProviders: prefersProviders),
                source: sources.tag(of: source))
        }
        for type in key.types {
            guard let failure = failed[type] else { continue }
            await coalescer.otherFamily(of: flight, type, until: clock.now + Budget.hedge)
            let outcome = failure.isOurs ? nil : cache.keepFailedFamily(key, type)
            finish(flight, type, with: outcome ?? .failure(failure.extendedError), failure)
        }
        if let check = policy.strategy.answerCheck {
            repair.begin(key, unchecked, by: check) { [self] in
                // What LocalDNS lied about goes to HTTPDNS first, this once.
                _ = coalescer.join(key) { await self.fly($0, by: policy, mode: .httpdnsFirst) }
            }
        }
    }

    /// Keeps what was told of one type.
    private func keep(
        _ answer: Answer, for key: FlightKey, _ type: RecordType, _ source: Source, _ server: String,
        by policy: ResolverPolicy, prefersProviders: Bool
    ) -> Flight.Outcome {
        preferring(key, type, by: policy) {
            keepTold(answer, for: key, type, source, server, by: policy, prefersProviders: prefersProviders)
        }
    }

    /// What `keep` makes of one type, unless the family gives way to the other one.
    private func preferring(
        _ key: FlightKey, _ type: RecordType, by policy: ResolverPolicy, keep: () -> Flight.Outcome
    ) -> Flight.Outcome {
        if let yielded = yielded(key, type, by: policy) { return .answer(yielded) }
        let outcome = keep()
        dropYielding(to: outcome, key, type, by: policy)
        return outcome
    }

    private func keepTold(
        _ answer: Answer, for key: FlightKey, _ type: RecordType, _ source: Source, _ server: String,
        by policy: ResolverPolicy, prefersProviders: Bool
    ) -> Flight.Outcome {
        if source == .localDNS, type.isAddress, prefersProviders {
            if policy.lastResort.addresses(of: key.name) != nil {
                return .failure(
                    ExtendedError(.noReachableAuthority, "only LocalDNS answers, and its answer is not proven"))
            }
            return cache.keepUnverified(answer, for: key, type, server)
        }
        return cache.keep(policy.consistent(answer, for: key), for: key, type, source, server)
    }

    /// A preset of last resort is better than "nothing" that nobody can explain, but stands beside no told address.
    private func keepEmpty(
        ttl: UInt32?, for key: FlightKey, _ type: RecordType, by policy: ResolverPolicy
    ) -> Flight.Outcome {
        if type.isAddress, policy.lastResort.addresses(of: key.name) != nil, !cache.hasOtherFamily(key, type) {
            return .failure(ExtendedError(.other, "the sources say nothing of this name"))
        }
        return cache.keepEmpty(ttl: ttl, for: key, type)
    }

    private func finish(
        _ flight: Flight, _ type: RecordType, with outcome: Flight.Outcome, _ failure: UpstreamFailure? = nil,
        source: UInt16? = nil
    ) {
        switch outcome {
        case .answer:
            failures.answered(flight.key, type)
        case .failure(let error):
            tellFailed(flight, type, error)
            if failure?.isOurs != true {
                failures.failed(
                    flight.key, type, isTransport: failure?.isTransport ?? false, error: error, at: clock.now,
                    recoveries: flight.recoveries)
            }
        }
        flight.finish(type, with: outcome, source: source)
    }
}

extension Resolver {
    /// Once for a flight, though both families may fail.
    private func tellFailed(_ flight: Flight, _ type: RecordType, _ error: ExtendedError) {
        guard !flight.isToldFailed, !flight.isAbandoned else { return }
        flight.isToldFailed = true
        let question = Question(name: flight.key.name, type: type)
        report(.answerFailed(question, flight.key.route, reason: error.text))
    }
}

extension FlightKey {
    /// Whether "no such name" may be turned into "no address of this family" when the name has addresses of the other.
    ///
    /// Broken load balancers say NXDOMAIN of the family they do not have, and musl then fails the whole look-up. Who
    /// checks signatures must get what was signed.
    fileprivate func mayFitFamilies(_ type: RecordType) -> Bool { type.isAddress && !isSigned }
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

extension UpstreamFailure {
    /// What a client with EDNS is told of it (RFC 8914 sections 4.23 and 4.24).
    fileprivate var extendedError: ExtendedError {
        switch self {
        case .network(let text): ExtendedError(.networkError, text)
        case .forged(let text): ExtendedError(.forgedAnswer, text)
        case .overloaded(let text): ExtendedError(.other, text)
        default: ExtendedError(.noReachableAuthority, description)
        }
    }
}
