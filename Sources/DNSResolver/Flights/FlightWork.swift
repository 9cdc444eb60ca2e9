import DNSCache
import DNSWire
import Scheduling

/// The work of a flight for the types that are asked for together: asks the sources, caches their answers, wakes the
/// waiters.
@Loop
final class FlightWork: FlightRun {
    let flight: Flight
    /// In force when the flight began.
    let policy: ResolverPolicy
    private let mode: Mode?
    let environment: FlightEnvironment
    /// Whether HTTPDNS goes before LocalDNS.
    private let prefersProviders: Bool
    /// The results that are decided only when all types are known; nil: mostly there is none.
    private var deferred: DeferredResults?
    let began: Instant

    var key: FlightKey { flight.key }
    var store: AnswerStore { environment.store }
    var clock: any LoopClock { environment.clock }

    /// - Parameters:
    ///   - type: it is asked for, and with it the other family where one call returns both.
    ///   - mode: for this work; nil: the policy's.
    init(
        _ flight: Flight, _ type: RecordType, by policy: ResolverPolicy, mode: Mode?, in environment: FlightEnvironment
    ) {
        self.flight = flight
        self.policy = policy
        self.mode = mode
        self.environment = environment
        began = environment.clock.now
        prefersProviders = policy.routes.prefersProviders(flight.key.route) || mode == .httpdnsFirst
        let types = policy.types(for: type, flight.key)
        super.init(flight.isIdle ? types : types.filter { flight.run(for: $0) == nil })
    }

    /// The flight that asks for a type; nil when there is no capacity for one.
    ///
    /// - Parameter mode: for its work, if it begins some; nil: the policy's.
    static func join(
        _ key: FlightKey, _ type: RecordType, by policy: ResolverPolicy, mode: Mode? = nil,
        in environment: FlightEnvironment
    ) -> Flight? {
        environment.coalescer.join(key, type) {
            FlightWork($0, type, by: policy, mode: mode, in: environment).begin()
        }
    }

    /// Where a flight asks the providers alone for a type, asks all sources in place of that: clients that have an answer
    /// of LocalDNS decide nothing for one that has none.
    static func widen(_ flight: Flight, _ type: RecordType, by policy: ResolverPolicy) {
        guard let run = flight.run(for: type) as? FlightWork, run.isNarrow else { return }
        run.replace(by: policy, mode: nil)
    }

    /// Whether it asks the providers alone, behind an answer of LocalDNS.
    private var isNarrow: Bool { if case .httpdnsOnly? = mode { true } else { false } }

    /// Begins; it may be over before this returns.
    private func begin() {
        flight.add(self)
        let work = policy.strategy.begin(
            key, types, mode: mode, mayBeLocal: policy.routes.isInSearchDomain(key.name),
            settle: { [self] in settle($0) }, hasOtherFamily: { [self] in hasOtherFamily(of: $0) },
            done: { [self] in finish() })
        if !isWaiting { self.work = work }
    }

    /// Begins in place of what asked for its types before, and goes on with its requests to providers.
    private func begin(insteadOf earlier: (any SourceRun)?) {
        flight.add(self)
        let work = policy.strategy.begin(
            insteadOf: earlier, key, types, mode: mode, mayBeLocal: policy.routes.isInSearchDomain(key.name),
            settle: { [self] in settle($0) }, hasOtherFamily: { [self] in hasOtherFamily(of: $0) },
            done: { [self] in finish() })
        if !isWaiting { self.work = work }
    }

    /// Asks for its types once more, and gives itself up; what the providers were asked, they are not asked again.
    private func replace(by policy: ResolverPolicy, mode: Mode?) {
        flight.reopen(self)
        // By a policy that was replaced meanwhile, the families may be asked for apart.
        for type in types where flight.isOpen(type) {
            FlightWork(flight, type, by: policy, mode: mode, in: environment)
                .begin(insteadOf: policy === self.policy ? work : nil)
        }
        cancel()
    }

    private func settle(_ found: SourcedResult) {
        key.note(
            .decide,
            "\(found.type): \(found.result.traceText(found.type)), from \(policy.strategy.name(of: found.source))")
        if found.isDenied, found.source == .localDNS, case .answer(let answer) = found.result {
            keep(answer, found)
        } else if found.empty != nil, prefersProviders, types == [found.type], found.type.isAddress {
            wait(for: .otherFamilyOfProvider, found)
        } else {
            settleAlone(found)
        }
    }

    /// Leaves a result until all types are known.
    private func wait(for decision: DeferredResults.Decision, _ found: SourcedResult) {
        let deferred = deferred ?? DeferredResults()
        self.deferred = deferred
        deferred.results.append((found, decision))
    }

    func settleAlone(_ found: SourcedResult) {
        let type = found.type
        switch found.result {
        case .answer(let answer) where found.source == .localDNS && prefersProviders:
            receivedFallback(answer, found)
        case .answer(let answer):
            received(answer, found)
        case .indeterminateEmpty(let ttl):
            finish(type, with: keepEmpty(ttl: ttl, found))
        case .failure(let failure):
            if case .noServer = failure, let answer = answerWithoutLocalDNS(type) {
                return finish(type, with: .answer(answer), source: policy.sources.tag(of: .rule))
            }
            wait(for: .failure, found)
        }
    }

    /// The answer for a name of the local network while there is no LocalDNS server, and no earlier answer of one. Not
    /// cached: the next question may find a server.
    private func answerWithoutLocalDNS(_ type: RecordType) -> PackedAnswer? {
        let question = Question(name: key.name, type: type)
        guard key.route == .bypass, !store.hasAnswer(key, type), policy.lastResort.addresses(of: key.name) == nil,
            let answer = policy.localAnswers.withoutLocalDNS(question, policy: policy.routes)
        else { return nil }
        return PackedAnswer(policy.consistent(answer, for: key), for: question)
    }

    private func received(_ answer: consuming Answer, _ found: SourcedResult) {
        let type = found.type
        if !prefersProviders, policy.strategy.isUnchecked(answer, key, type, found.source) {
            let subject = AnswerRepair.Subject(copy answer, server: found.server)
            let outcome = yielded(type) ?? preferring(store.keepUnchecked(answer, for: key, type, found.server), type)
            finish(type, with: outcome, source: policy.sources.tag(of: found.source))
            checkBehind(subject, type)
        } else if answer.responseCode == .nameError, key.mayFitFamilies(type) {
            wait(for: .denial, found.with(.answer(answer)))
        } else if policy.strategy.isGuarded(flight.key) {
            guard let left = answer.withoutHints(type, keepsSigned: key.dnssecOK) else {
                return finish(type, with: store.keepEmpty(ttl: nil, for: key, type))
            }
            keep(left, found)
        } else {
            keepOrTranslate(answer, found)
        }
    }

    /// While the answer waited as fallback, the checks of its addresses went on.
    private func receivedFallback(_ answer: Answer, _ found: SourcedResult) {
        guard let check = policy.strategy.answerCheck else { return received(answer, found) }
        let known = check.asKnown(answer, to: key, found.type)
        if case .refused(let failure) = known { return wait(for: .failure, found.with(.failure(failure))) }
        guard let left = known.answer else { return }
        received(left, found.with(.answer(left), from: known.source))
        guard case .unverified = known else { return }
        check.watch(left, to: key, found.type) { [store, key] in store.forgetUnverified(key, found.type) }
    }

    /// Decides what had to wait until every type is settled.
    private func finish() {
        isWaiting = true
        work = nil
        guard let deferred else { return end() }
        Loop.spawn { [self] in
            while !isCancelled, let (found, decision) = deferred.popNext() { await decide(found, decision) }
            end()
        }
    }

    private func end() {
        flight.remove(self)
        if flight.isIdle { environment.coalescer.end(flight) }
    }

    // MARK: Background checks

    /// Checks an answer of LocalDNS that was already given to the waiters, without waiting for the other family.
    private func checkBehind(_ subject: AnswerRepair.Subject, _ type: RecordType) {
        guard let check = policy.strategy.answerCheck else { return }
        // The check may outlive the flight, and must not retain its results.
        environment.repair.begin(key, type, subject, by: check) { [weak self, key, policy, environment] in
            if let self { return askAgain(type) }
            _ = Self.join(key, type, by: policy, mode: .httpdnsFirst, in: environment)
        }
    }

    /// Asks HTTPDNS first for a name whose answer from LocalDNS was forged.
    private func askAgain(_ type: RecordType) {
        if flight.run(for: type) === self {
            replace(by: policy, mode: .httpdnsFirst)
        } else {
            _ = Self.join(key, type, by: policy, mode: .httpdnsFirst, in: environment)
        }
    }

    // MARK: Caching

    /// Puts off "no IPv6 address" of a provider where addresses are made of others; keeps any other answer.
    func keepOrTranslate(_ answer: consuming Answer, _ found: SourcedResult) {
        guard policy.translates(found.type, key), case .provider = found.source, !answer.hasSignatures else {
            return keep(answer, found)
        }
        let real = answer.withoutMappedAddresses()
        guard real.responseCode == .noError, real.isNegative(for: found.type) else { return keep(real, found) }
        wait(for: .translation, found.with(.answer(real)))
    }

    func keep(_ answer: consuming Answer, _ found: SourcedResult) {
        let tag = policy.sources.tag(of: found.source)
        if let yielded = yielded(found.type) { return finish(found.type, with: yielded, source: tag) }
        finish(found.type, with: preferring(keepSourced(answer, found), found.type), source: tag)
    }

    /// What becomes of a family's result, given the name's other family.
    func reconciled(_ own: Reconciliation.Own, _ type: RecordType) -> Reconciliation {
        Reconciliation(own, other: otherFamily(of: type), isSuppressed: policy.suppresses(type, key))
    }

    /// Whether a client has addresses of the other family, or has them as soon as HTTPDNS is no longer awaited.
    private func hasOtherFamily(of type: RecordType) -> Bool {
        // One that is asked for apart may replace what is cached.
        if let other = flight.run(for: type.otherFamily), other !== self { return other.work?.isVerified == true }
        return otherFamily(of: type) != nil
    }

    /// The number of the source whose addresses of the other family are cached, or were found just now; nil: there are
    /// none.
    func otherFamily(of type: RecordType) -> UInt16? {
        store.otherFamily(key, type) ?? flight.sourceOfAddresses(type.otherFamily)
    }

    /// The outcome of a type that is suppressed in favour of the other family.
    private func yielded(_ type: RecordType) -> Flight.Outcome? {
        // Mostly nothing is suppressed, and then the other family is not looked up.
        guard policy.suppresses(type, key), reconciled(.answer, type) == .suppressed else { return nil }
        return store.keepYielded(
            Question(name: key.name, type: type), scope: key.scope, generation: key.generation
        ).map(Flight.Outcome.answer)
    }

    /// The outcome; if it has addresses in favour of which the other family is suppressed, that leaves the cache.
    func preferring(_ outcome: Flight.Outcome, _ type: RecordType) -> Flight.Outcome {
        if type.isAddress, policy.suppresses(type.otherFamily, key), key.generation == store.generation,
            case .answer(let answer) = outcome, answer.holds(type)
        {
            store.removeYielding(Question(name: key.name, type: type.otherFamily), scope: key.scope)
        }
        return outcome
    }

    private func keepSourced(_ answer: consuming Answer, _ found: SourcedResult) -> Flight.Outcome {
        let type = found.type
        let (isUnverified, isOfLocalDNS) =
            switch found.source {
            case .localDNS: (true, true)
            case .verifiedLocalDNS: (false, true)
            case .forward, .provider, .rule, .preset: (false, false)
            }
        // Where a provider calls the name empty or denies it, LocalDNS does not stand in for a provider that is away.
        let isFallback =
            isOfLocalDNS && prefersProviders && !found.isDenied && found.empty == nil
            && policy.strategy.hasProvider(for: key)
        if isUnverified, type.isAddress, prefersProviders || found.isDenied {
            if policy.lastResort.addresses(of: key.name) != nil {
                return .failure(
                    ExtendedError(.noReachableAuthority, "only LocalDNS answers, and its answer is not verified"))
            }
            let replacesTrusted = found.isDenied || found.empty != nil && answer.isNegative(for: type)
            return store.keepUnverified(
                answer, for: key, type, found.server, isFallback: isFallback, replacesTrusted: replacesTrusted)
        }
        // A family that no client may use is asked for only when the other one is made of it.
        let isGiven = key.isSigned || !policy.localAnswers.families.excludes(type)
        return store.keep(
            policy.consistent(answer, for: key), for: key, type, found.source, found.server,
            longest: found.isDenied && !isUnverified ? AnswerStore.provisionalLifetime : found.sharedFor ?? .max,
            isFallback: isFallback,
            isGiven: isGiven)
    }

    /// A preset of last resort is better than an unexplained empty response, but is not combined with addresses that a
    /// source answered.
    private func keepEmpty(ttl: UInt32?, _ found: SourcedResult) -> Flight.Outcome {
        let type = found.type
        if type.isAddress, policy.lastResort.addresses(of: key.name) != nil, store.otherFamily(key, type) == nil {
            return .failure(ExtendedError(.other, "the sources say nothing of this name"))
        }
        // Where LocalDNS has denied the type after a provider called it empty, both agree.
        let isAgreed = found.source == .localDNS && found.empty != nil
        return store.keepEmpty(ttl: ttl, for: key, type, replacesStale: isAgreed)
    }

    func finish(
        _ type: RecordType, with outcome: Flight.Outcome, _ failure: UpstreamFailure? = nil, source: UInt16? = nil
    ) {
        switch outcome {
        case .answer(let answer):
            environment.failures.answered(key, type, isMadeHere: source == nil || source == SourceTags.rule)
            // One call, for both families or for one.
            if let brake = environment.brake, type == types.first, key.isBraked(by: policy), answer.denies(type) {
                brake.denied(key.name, to: key.holder, at: clock.now)
            }
        case .failure(let error):
            if failure?.isOurs != true {
                // An answer that was found, and counts for less than an older one, is wanted once that is of no more use.
                environment.failures.failed(
                    key, type, isTransport: failure?.isTransport ?? false, error: error, at: clock.now,
                    asked: began, isNarrow: isNarrow, until: source == nil ? nil : store.endOfUse(key, type))
            }
        }
        flight.finish(type, with: outcome, source: source)
    }
}
