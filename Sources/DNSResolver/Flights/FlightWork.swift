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
    private var openResults: OpenResults?
    /// Whether HTTPDNS was asked for the name after LocalDNS's answer was detected as forged.
    private var isAskedAgain = false
    private var isSettled = false

    private var key: FlightKey { flight.key }
    private var cache: AnswerStore { resolver.cache }
    /// Created when it is needed: mostly never.
    private var open: OpenResults {
        if let openResults { return openResults }
        let open = OpenResults()
        openResults = open
        return open
    }

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
            settle: { [self] in settle($0, $1, $2, $3, $4) }, done: { [self] in finish() })
        if !isSettled { flight.work = work }
    }

    private func settle(
        _ type: RecordType, _ result: UpstreamResult, _ source: Source, _ server: String, _ finding: ProviderFinding?
    ) {
        guard let finding else { return settle(type, result, source, server) }
        open.findings.append((type, finding))
        switch (finding, result) {
        case (.denied, .answer(let answer)) where source == .localDNS:
            keep(answer, type, source, server)
        case (.empty(let empty), _) where prefersProviders && key.types == [type] && type.isAddress:
            open.emptied.append(
                OpenResults.Emptied(type: type, result: result, source: source, server: server, empty: empty))
        default:
            settle(type, result, source, server)
        }
    }

    private func settle(_ type: RecordType, _ result: UpstreamResult, _ source: Source, _ server: String) {
        switch result {
        case .answer(let answer) where source == .localDNS && prefersProviders:
            takeReserve(answer, type, server)
        case .answer(let answer):
            take(answer, type, source, server)
        case .indeterminateEmpty(let ttl):
            finish(type, with: keepEmpty(ttl: ttl, type, isAgreed: source == .localDNS && isEmpty(type)))
        case .failure(let failure):
            if case .noServer = failure, let answer = answerWithoutLocalDNS(type) {
                return finish(type, with: .answer(answer), source: policy.sources.tag(of: .rule))
            }
            open.failed.append((type, failure))
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

    private func take(_ answer: consuming Answer, _ type: RecordType, _ source: Source, _ server: String) {
        if !prefersProviders, policy.strategy.isUnchecked(answer, key, type, source) {
            let subject = AnswerRepair.Subject(copy answer, server: server)
            let outcome = yielded(type) ?? preferring(cache.keepUnchecked(answer, for: key, type, server), type)
            finish(type, with: outcome, source: policy.sources.tag(of: source))
            checkBehind(subject, type)
        } else if answer.responseCode == .nameError, key.mayFitFamilies(type) {
            open.doubtful.append(OpenResults.Sourced(type: type, answer: answer, source: source, server: server))
        } else if policy.strategy.isGuarded(flight.key) {
            open.bindings.append(OpenResults.Sourced(type: type, answer: answer, source: source, server: server))
        } else {
            keepOrTranslate(answer, type, source, server)
        }
    }

    /// While the answer waited as fallback, the checks of its addresses went on.
    private func takeReserve(_ answer: Answer, _ type: RecordType, _ server: String) {
        guard let check = policy.strategy.answerCheck else { return take(answer, type, .localDNS, server) }
        let judged = check.judgedAgain(answer, to: key, type)
        guard case .answer(let left) = judged.result else {
            if case .failure(let failure) = judged.result { open.failed.append((type, failure)) }
            return
        }
        take(left, type, judged.source, server)
        guard !judged.isVerified else { return }
        check.watch(left, to: key, type) { [cache, key] in cache.forgetUnverified(key, type) }
    }

    /// Decides what had to wait until every type is settled.
    private func finish() {
        isSettled = true
        guard let open = openResults, !open.isEmpty else { return end() }
        Loop.spawn { [self] in
            for sourced in open.bindings where !flight.isAbandoned { await fit(sourced) }
            // First, for each may lead to one of the others.
            for emptied in open.emptied where !flight.isAbandoned { await fitFamily(emptied) }
            for sourced in open.doubtful where !flight.isAbandoned { await deny(sourced) }
            for (type, failure) in open.failed where !flight.isAbandoned { await fail(type, failure) }
            for sourced in open.untranslated where !flight.isAbandoned { await translate(sourced) }
            end()
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

    private func fit(_ sourced: OpenResults.Sourced) async {
        let fitted = await resolver.fit(sourced.answer, for: key, sourced.type)
        guard !flight.isAbandoned else { return }
        guard let fitted else {
            return finish(sourced.type, with: cache.keepEmpty(ttl: nil, for: key, sourced.type))
        }
        let outcome = cache.keep(
            policy.consistent(fitted.answer, for: key), for: key, sourced.type, sourced.source, sourced.server,
            longest: fitted.longest)
        finish(sourced.type, with: outcome, source: policy.sources.tag(of: sourced.source))
    }

    /// A provider that knows addresses of the other family knows the name: its empty response then holds for this
    /// family alone, whatever LocalDNS answers for it.
    private func fitFamily(_ emptied: OpenResults.Emptied) async {
        let (type, empty) = (emptied.type, emptied.empty)
        let provider = Source.provider(index: empty.provider)
        let none = OpenResults.Sourced(
            type: type, answer: .negative(name: key.name, ttl: empty.ttl), source: provider, server: empty.server)
        if policy.translates(type, key) {
            let made = await resolver.translated(flight, none.answer, by: policy, until: empty.deadline)
            guard !flight.isAbandoned else { return }
            if case .answer(let answer) = made { return keepTranslated(answer, none) }
        } else {
            await resolver.coalescer.otherFamily(of: flight, type, until: empty.deadline)
            guard !flight.isAbandoned else { return }
        }
        if cache.hasOtherFamily(key, type, answeredBy: policy.sources.tag(of: provider)) {
            keep(none.answer, type, provider, none.server)
        } else {
            settle(type, emptied.result, emptied.source, emptied.server)
        }
    }

    private func deny(_ sourced: OpenResults.Sourced) async {
        await resolver.coalescer.otherFamily(of: flight, sourced.type, until: resolver.clock.now + Budget.hedge)
        guard !flight.isAbandoned else { return }
        var answer = sourced.answer
        if cache.hasOtherFamily(key, sourced.type) { answer.responseCode = .noError }
        keepOrTranslate(answer, sourced.type, sourced.source, sourced.server)
    }

    private func fail(_ type: RecordType, _ failure: UpstreamFailure) async {
        await resolver.coalescer.otherFamily(of: flight, type, until: resolver.clock.now + Budget.hedge)
        guard !flight.isAbandoned else { return }
        let made = resolver.translatedInstead(key, type, by: policy)
        let outcome = failure.isOurs ? nil : cache.keepFailedFamily(key, type, made: made)
        finish(type, with: outcome ?? .failure(failure.extendedError), failure)
    }

    /// Once all else is settled: what is made of A needs that.
    private func translate(_ sourced: OpenResults.Sourced) async {
        let made = await resolver.translated(
            flight, sourced.answer, by: policy, until: resolver.clock.now + Budget.answer)
        guard !flight.isAbandoned else { return }
        switch made {
        case .answer(let answer): keepTranslated(answer, sourced)
        case .failure(let error): finish(sourced.type, with: .failure(error))
        case .nothing: keep(sourced.answer, sourced.type, sourced.source, sourced.server)
        case .unverified:
            let outcome = cache.keep(
                sourced.answer, for: key, sourced.type, sourced.source, sourced.server,
                longest: AnswerStore.unverifiedLifetime)
            finish(
                sourced.type, with: preferring(outcome, sourced.type), source: policy.sources.tag(of: sourced.source))
        }
    }

    /// - Parameter sourced: the answer in whose place the addresses were made.
    private func keepTranslated(_ answer: Answer, _ sourced: OpenResults.Sourced) {
        let outcome = cache.keep(answer, for: key, sourced.type, sourced.source, sourced.server, isTranslated: true)
        finish(sourced.type, with: preferring(outcome, sourced.type), source: policy.sources.tag(of: sourced.source))
    }

    // MARK: Caching

    /// Puts off "no IPv6 address" of a provider where addresses are made of others; keeps any other answer.
    private func keepOrTranslate(
        _ answer: consuming Answer, _ type: RecordType, _ source: Source, _ server: String
    ) {
        guard policy.translates(type, key), case .provider = source, !answer.hasSignatures else {
            return keep(answer, type, source, server)
        }
        let real = answer.withoutMappedAddresses()
        guard real.responseCode == .noError, real.isNegative(for: type) else { return keep(real, type, source, server) }
        open.untranslated.append(OpenResults.Sourced(type: type, answer: real, source: source, server: server))
    }

    private func keep(_ answer: consuming Answer, _ type: RecordType, _ source: Source, _ server: String) {
        let tag = policy.sources.tag(of: source)
        if let yielded = yielded(type) { return finish(type, with: yielded, source: tag) }
        finish(type, with: preferring(keepSourced(answer, type, source, server), type), source: tag)
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

    private func keepSourced(
        _ answer: consuming Answer, _ type: RecordType, _ source: Source, _ server: String
    ) -> Flight.Outcome {
        let (isUnverified, isOfLocalDNS) =
            switch source {
            case .localDNS: (true, true)
            case .verifiedLocalDNS: (false, true)
            case .forward, .provider, .rule, .preset: (false, false)
            }
        // Where a provider calls the name empty or denies it, LocalDNS does not stand in for a provider that is away.
        let isFallback =
            isOfLocalDNS && prefersProviders && finding(type) == nil && policy.strategy.hasProvider(for: key)
        let isDenied = openResults != nil && isDenied(type)
        if isUnverified, type.isAddress, prefersProviders || isDenied {
            if policy.lastResort.addresses(of: key.name) != nil {
                return .failure(
                    ExtendedError(.noReachableAuthority, "only LocalDNS answers, and its answer is not verified"))
            }
            let replacesTrusted = isDenied || isEmpty(type) && answer.isNegative(for: type)
            return cache.keepUnverified(
                answer, for: key, type, server, isFallback: isFallback, replacesTrusted: replacesTrusted)
        }
        // A family that no client may use is asked for only when the other one is made of it.
        let isGiven = key.isSigned || !policy.localAnswers.families.excludes(type)
        return cache.keep(
            policy.consistent(answer, for: key), for: key, type, source, server,
            longest: isDenied && !isUnverified ? AnswerStore.provisionalLifetime : .max, isFallback: isFallback,
            isGiven: isGiven)
    }

    /// Whether the providers deny the name, and LocalDNS has addresses or has not answered.
    private func isDenied(_ type: RecordType) -> Bool {
        if case .denied? = finding(type) { true } else { false }
    }

    /// Whether a provider sent an indeterminate empty response, and none has answered.
    private func isEmpty(_ type: RecordType) -> Bool {
        if case .empty? = finding(type) { true } else { false }
    }

    @inline(__always)
    private func finding(_ type: RecordType) -> ProviderFinding? {
        guard let openResults else { return nil }
        return openResults.findings.last { $0.type == type }?.finding
    }

    /// A preset of last resort is better than an unexplained empty response, but is not combined with addresses that a
    /// source answered.
    ///
    /// - Parameter isAgreed: whether LocalDNS has denied the type after a provider called it empty.
    private func keepEmpty(ttl: UInt32?, _ type: RecordType, isAgreed: Bool) -> Flight.Outcome {
        if type.isAddress, policy.lastResort.addresses(of: key.name) != nil, !cache.hasOtherFamily(key, type) {
            return .failure(ExtendedError(.other, "the sources say nothing of this name"))
        }
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
