import DNSCache
import DNSWire
import Scheduling

/// The work of one flight: asks the sources, caches their answers, wakes the waiters.
@Loop
final class FlightWork {
    private let flight: Flight
    /// In force when the flight began.
    private let policy: ResolverPolicy
    private let mode: Mode?
    private let resolver: Resolver
    /// Whether HTTPDNS goes before LocalDNS.
    private let prefersProviders: Bool
    /// The results that are decided only when all types are known; nil: mostly there is none.
    private var deferred: DeferredResults?
    /// Whether HTTPDNS was asked for the name after LocalDNS's answer was detected as forged.
    private var isAskedAgain = false
    private var isSettled = false

    private var key: FlightKey { flight.key }
    private var cache: AnswerStore { resolver.cache }

    /// - Parameters:
    ///   - mode: for this flight; nil: the policy's.
    init(_ flight: Flight, by policy: ResolverPolicy, mode: Mode? = nil, of resolver: Resolver) {
        self.flight = flight
        self.policy = policy
        self.mode = mode
        self.resolver = resolver
        prefersProviders = policy.routes.prefersProviders(flight.key.route) || mode == .httpdnsFirst
    }

    /// Begins; the flight may be over before this returns.
    func begin() {
        flight.recoveries = policy.strategy.recoveries(for: flight.key)
        let work = policy.strategy.begin(
            flight.key, mode: mode, mayBeLocal: policy.routes.isInSearchDomain(key.name),
            settle: { [self] in settle($0) }, done: { [self] in finish() })
        if !isSettled { flight.work = work }
    }

    private func settle(_ found: SourcedResult) {
        if found.isDenied, found.source == .localDNS, case .answer(let answer) = found.result {
            keep(answer, found)
        } else if found.empty != nil, prefersProviders, key.types == [found.type], found.type.isAddress {
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

    private func settleAlone(_ found: SourcedResult) {
        let type = found.type
        switch found.result {
        case .answer(let answer) where found.source == .localDNS && prefersProviders:
            takeReserve(answer, found)
        case .answer(let answer):
            take(answer, found)
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
        guard key.route == .bypass, !cache.hasAnswer(key, type), policy.lastResort.addresses(of: key.name) == nil,
            let answer = policy.localAnswers.withoutLocalDNS(question, policy: policy.routes)
        else { return nil }
        return PackedAnswer(policy.consistent(answer, for: key), for: question)
    }

    private func take(_ answer: consuming Answer, _ found: SourcedResult) {
        let type = found.type
        if !prefersProviders, policy.strategy.isUnchecked(answer, key, type, found.source) {
            let subject = AnswerRepair.Subject(copy answer, server: found.server)
            let outcome = yielded(type) ?? preferring(cache.keepUnchecked(answer, for: key, type, found.server), type)
            finish(type, with: outcome, source: policy.sources.tag(of: found.source))
            checkBehind(subject, type)
        } else if answer.responseCode == .nameError, key.mayFitFamilies(type) {
            wait(for: .denial, found.with(.answer(answer)))
        } else if policy.strategy.isGuarded(flight.key) {
            wait(for: .hints, found.with(.answer(answer)))
        } else {
            keepOrTranslate(answer, found)
        }
    }

    /// While the answer waited as fallback, the checks of its addresses went on.
    private func takeReserve(_ answer: Answer, _ found: SourcedResult) {
        guard let check = policy.strategy.answerCheck else { return take(answer, found) }
        let known = check.asKnown(answer, to: key, found.type)
        if case .refused(let failure) = known { return wait(for: .failure, found.with(.failure(failure))) }
        guard let left = known.answer else { return }
        take(left, found.with(.answer(left), from: known.source))
        guard case .unverified = known else { return }
        check.watch(left, to: key, found.type) { [cache, key] in cache.forgetUnverified(key, found.type) }
    }

    /// Decides what had to wait until every type is settled.
    private func finish() {
        isSettled = true
        guard let deferred else { return end() }
        Loop.spawn { [self] in
            while !flight.isAbandoned, let (found, decision) = deferred.popNext() { await decide(found, decision) }
            end()
        }
    }

    private func decide(_ found: SourcedResult, _ decision: DeferredResults.Decision) async {
        switch (decision, found.result) {
        case (.hints, .answer(let answer)): await fit(answer, found)
        case (.otherFamilyOfProvider, _): await fitFamily(found)
        case (.denial, .answer(let answer)): await deny(answer, found)
        case (.failure, .failure(let failure)): await fail(failure, found)
        case (.translation, .answer(let answer)): await translate(answer, found)
        default: break
        }
    }

    private func end() { resolver.coalescer.end(flight) }

    // MARK: Background checks

    /// Checks an answer of LocalDNS that was already given to the waiters, without waiting for the other family.
    private func checkBehind(_ subject: AnswerRepair.Subject, _ type: RecordType) {
        guard let check = policy.strategy.answerCheck else { return }
        // The check may outlive the flight, and must not retain its results.
        resolver.repair.begin(key, type, subject, by: check) { [weak self, key, policy, resolver] in
            if let self { return askAgain() }
            _ = resolver.coalescer.join(key) { Self.askProviders($0, by: policy, of: resolver) }
        }
    }

    /// Asks HTTPDNS first, once, for a name whose answer from LocalDNS was forged.
    private func askAgain() {
        guard !isAskedAgain else { return }
        isAskedAgain = true
        resolver.coalescer.replace(flight) { Self.askProviders($0, by: policy, of: resolver) }
    }

    private static func askProviders(_ flight: Flight, by policy: ResolverPolicy, of resolver: Resolver) {
        FlightWork(flight, by: policy, mode: .httpdnsFirst, of: resolver).begin()
    }

    // MARK: Results that wait for other look-ups

    private func fit(_ answer: Answer, _ found: SourcedResult) async {
        let fitted = await resolver.fit(answer, for: key, found.type)
        guard !flight.isAbandoned else { return }
        guard let fitted else {
            return finish(found.type, with: cache.keepEmpty(ttl: nil, for: key, found.type))
        }
        let outcome = cache.keep(
            policy.consistent(fitted.answer, for: key), for: key, found.type, found.source, found.server,
            longest: fitted.longest)
        finish(found.type, with: outcome, source: policy.sources.tag(of: found.source))
    }

    /// A provider that knows addresses of the other family knows the name: its empty response then holds for this
    /// family alone, whatever LocalDNS answers for it.
    private func fitFamily(_ found: SourcedResult) async {
        guard let empty = found.empty else { return }
        let type = found.type
        let answer = Answer.negative(name: key.name, ttl: empty.ttl)
        let none = SourcedResult(type, .answer(answer), .provider(index: empty.provider), empty.server)
        if policy.translates(type, key) {
            let made = await resolver.translated(flight, answer, by: policy, until: empty.deadline)
            guard !flight.isAbandoned else { return }
            if case .answer(let answer) = made { return keepTranslated(answer, none) }
        } else {
            await resolver.coalescer.otherFamily(of: flight, type, until: empty.deadline)
            guard !flight.isAbandoned else { return }
        }
        if cache.hasOtherFamily(key, type, answeredBy: policy.sources.tag(of: none.source)) {
            keep(answer, none)
        } else {
            settleAlone(found)
        }
    }

    private func deny(_ answer: Answer, _ found: SourcedResult) async {
        await resolver.coalescer.otherFamily(of: flight, found.type, until: resolver.clock.now + Budget.hedge)
        guard !flight.isAbandoned else { return }
        var answer = answer
        if cache.hasOtherFamily(key, found.type) { answer.responseCode = .noError }
        keepOrTranslate(answer, found)
    }

    private func fail(_ failure: UpstreamFailure, _ found: SourcedResult) async {
        let type = found.type
        await resolver.coalescer.otherFamily(of: flight, type, until: resolver.clock.now + Budget.hedge)
        guard !flight.isAbandoned else { return }
        let made = resolver.translatedInstead(key, type, by: policy)
        let outcome = failure.isOurs ? nil : cache.keepFailedFamily(key, type, made: made)
        finish(type, with: outcome ?? .failure(failure.extendedError), failure)
    }

    /// Once all else is settled: what is made of A needs that.
    private func translate(_ answer: Answer, _ found: SourcedResult) async {
        let made = await resolver.translated(flight, answer, by: policy, until: resolver.clock.now + Budget.answer)
        guard !flight.isAbandoned else { return }
        switch made {
        case .answer(let translated): keepTranslated(translated, found)
        case .failure(let error): finish(found.type, with: .failure(error))
        case .nothing: keep(answer, found)
        case .unverified:
            let outcome = cache.keep(
                answer, for: key, found.type, found.source, found.server, longest: AnswerStore.unverifiedLifetime)
            finish(found.type, with: preferring(outcome, found.type), source: policy.sources.tag(of: found.source))
        }
    }

    /// - Parameter found: the answer in whose place the addresses were made.
    private func keepTranslated(_ answer: Answer, _ found: SourcedResult) {
        let outcome = cache.keep(answer, for: key, found.type, found.source, found.server, isTranslated: true)
        finish(found.type, with: preferring(outcome, found.type), source: policy.sources.tag(of: found.source))
    }

    // MARK: Caching

    /// Puts off "no IPv6 address" of a provider where addresses are made of others; keeps any other answer.
    private func keepOrTranslate(_ answer: consuming Answer, _ found: SourcedResult) {
        guard policy.translates(found.type, key), case .provider = found.source, !answer.hasSignatures else {
            return keep(answer, found)
        }
        let real = answer.withoutMappedAddresses()
        guard real.responseCode == .noError, real.isNegative(for: found.type) else { return keep(real, found) }
        wait(for: .translation, found.with(.answer(real)))
    }

    private func keep(_ answer: consuming Answer, _ found: SourcedResult) {
        let tag = policy.sources.tag(of: found.source)
        if let yielded = yielded(found.type) { return finish(found.type, with: yielded, source: tag) }
        finish(found.type, with: preferring(keepSourced(answer, found), found.type), source: tag)
    }

    /// The outcome of a type that is suppressed in favour of the other family.
    private func yielded(_ type: RecordType) -> Flight.Outcome? {
        resolver.yielded(key, type, by: policy).map(Flight.Outcome.answer)
    }

    /// The outcome, in favour of which the other family is suppressed.
    private func preferring(_ outcome: Flight.Outcome, _ type: RecordType) -> Flight.Outcome {
        resolver.dropYielding(to: outcome, key, type, by: policy)
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
            return cache.keepUnverified(
                answer, for: key, type, found.server, isFallback: isFallback, replacesTrusted: replacesTrusted)
        }
        // A family that no client may use is asked for only when the other one is made of it.
        let isGiven = key.isSigned || !policy.localAnswers.families.excludes(type)
        return cache.keep(
            policy.consistent(answer, for: key), for: key, type, found.source, found.server,
            longest: found.isDenied && !isUnverified ? AnswerStore.provisionalLifetime : .max, isFallback: isFallback,
            isGiven: isGiven)
    }

    /// A preset of last resort is better than an unexplained empty response, but is not combined with addresses that a
    /// source answered.
    private func keepEmpty(ttl: UInt32?, _ found: SourcedResult) -> Flight.Outcome {
        let type = found.type
        if type.isAddress, policy.lastResort.addresses(of: key.name) != nil, !cache.hasOtherFamily(key, type) {
            return .failure(ExtendedError(.other, "the sources say nothing of this name"))
        }
        // Where LocalDNS has denied the type after a provider called it empty, both agree.
        let isAgreed = found.source == .localDNS && found.empty != nil
        return cache.keepEmpty(ttl: ttl, for: key, type, replacesStale: isAgreed)
    }

    private func finish(
        _ type: RecordType, with outcome: Flight.Outcome, _ failure: UpstreamFailure? = nil, source: UInt16? = nil
    ) {
        switch outcome {
        case .answer:
            resolver.failures.answered(key, type)
        case .failure(let error):
            if failure?.isOurs != true {
                resolver.failures.failed(
                    key, type, isTransport: failure?.isTransport ?? false, error: error, at: resolver.clock.now,
                    recoveries: flight.recoveries)
            }
        }
        flight.finish(type, with: outcome, source: source)
    }
}

extension FlightKey {
    /// Whether NXDOMAIN may be turned into NODATA when the name has addresses of the other family.
    ///
    /// Broken load balancers answer NXDOMAIN for the family that they do not have, and musl then fails the whole
    /// look-up. A client that validates signatures must get what was signed.
    fileprivate func mayFitFamilies(_ type: RecordType) -> Bool { type.isAddress && !isSigned }
}

extension UpstreamFailure {
    /// The extended error that a client with EDNS gets for it (RFC 8914 sections 4.23 and 4.24).
    fileprivate var extendedError: ExtendedError {
        switch self {
        case .network(let text): ExtendedError(.networkError, text)
        case .forged(let text): ExtendedError(.forgedAnswer, text)
        case .overloaded(let text): ExtendedError(.other, text)
        default: ExtendedError(.noReachableAuthority, description)
        }
    }
}
