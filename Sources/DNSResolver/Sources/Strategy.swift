package import DNSWire
package import Scheduling

/// Which sources are asked for one flight, in which order and when (Documentation/Strategy.md).
@Loop
package final class Strategy {
    private let sources: Runner.Sources
    private let forwarders: [any Upstream]
    private let mode: Mode

    /// Whether HTTPS and SVCB records of protected names come from authenticated providers or not at all.
    nonisolated let guardsServiceBindings: Bool

    /// - Parameters:
    ///   - forwarders: one for each `[[forward]]` entry, in order.
    ///   - answerCheck: checks LocalDNS's answers to protected names; nil: they are not checked.
    ///   - shared: looked at before a provider is asked for a protected name; nil: nothing is shared.
    ///   - guardsServiceBindings: false passes HTTPS and SVCB on like any other type.
    package nonisolated init(
        mode: Mode, providers: ProviderSet, localDNS: any Upstream, forwarders: [any Upstream],
        answerCheck: AnswerCheck? = nil, shared: (any SharedAnswers)? = nil, guardsServiceBindings: Bool = true,
        clock: any LoopClock
    ) {
        self.guardsServiceBindings = guardsServiceBindings
        self.mode = mode
        self.forwarders = forwarders
        sources = Runner.Sources(
            providers: providers, localDNS: localDNS, answerCheck: answerCheck, shared: shared, clock: clock)
    }

    private nonisolated var providers: ProviderSet { sources.providers }
    private nonisolated var localDNS: any Upstream { sources.localDNS }

    /// Nil: answers of LocalDNS are taken unchecked.
    package nonisolated var answerCheck: AnswerCheck? { sources.answerCheck }

    /// The name of a source in output.
    package nonisolated func name(of source: Source) -> String {
        switch source {
        case .localDNS, .verifiedLocalDNS: localDNS.name
        case .forward(let index): forwarders[index].name
        case .provider(let index): providers.all[index].name
        case .rule: "a rule"
        case .preset: "a preset"
        }
    }

    /// The types that are asked for together when a client wants `type`: both families where one call returns both.
    nonisolated func types(for type: RecordType, _ key: FlightKey) -> [RecordType] {
        guard type.isAddress, case .protect = key.route,
            let first = providers.eligible(for: key.name, type: type, signed: key.isSigned).first,
            providers.all[first].answersBothFamilies
        else { return [type] }
        return Self.bothFamilies
    }

    /// The most of clients' addresses that is sent to providers; nil: nothing.
    package nonisolated var clientScoping: ClientScoping? { providers.clientScoping }

    /// For which clients an answer holds; nil for all.
    ///
    /// The same for all types of a name, and always the same under one policy: for a name that is asked for by client
    /// network, answers of LocalDNS are cached in that scope too.
    ///
    /// - Parameter client: nil: a look-up without a client.
    package nonisolated func scope(of client: ClientQuestion?, name: Name, route: Route) -> ClientScope? {
        guard let scoping = clientScoping, case .protect = route, providers.tellsNetworks(for: name) else { return nil }
        guard let client else { return .undisclosed }
        return scoping.scope(of: client.client, hidesNetwork: client.hidesNetwork)
    }

    private nonisolated static let bothFamilies: [RecordType] = [.a, .aaaa]

    /// Whether a request waits for a free slot at its service.
    var isBacklogged: Bool { providers.isBacklogged }

    /// When a backoff of a provider last ended, where that matters to a flight.
    func lastRecovery(for key: FlightKey) -> Instant? {
        if case .protect = key.route { providers.probes.lastRecovery } else { nil }
    }

    /// Which of a flight's providers can be asked, given their backoffs.
    func outlook(for key: FlightKey) -> ProviderSet.Outlook {
        guard case .protect = key.route else { return .usable }
        return providers.outlook(eligible(for: key))
    }

    /// Whether some provider has a limit of calls.
    var hasCallLimit: Bool {
        for provider in providers.all where provider.callShare != nil { return true }
        return false
    }

    /// How many calls one client network may have caused since half of the limits was spent, `.max` before that; nil where a
    /// provider that may be asked has no limit.
    func callShare(for key: FlightKey) -> Int? {
        guard hasCallLimit else { return nil }
        var share: Int?
        for index in eligible(for: key) {
            guard let own = providers.all[index].callShare else { return nil }
            share = max(share ?? own, own)
        }
        return share
    }

    /// Whether a provider may be asked for a protected name.
    func hasProvider(for key: FlightKey) -> Bool { !eligible(for: key).isEmpty }

    /// Whether a provider that may be asked for the name has answered any question since, or in the second of `storedAt`,
    /// which has whole seconds.
    func hasProviderAnswered(_ key: FlightKey, since storedAt: Instant) -> Bool {
        eligible(for: key).contains { index in
            providers.all[index].endpoints.contains { $0.health.hasAnswered(since: storedAt) }
        }
    }

    private func eligible(for key: FlightKey) -> [Int] {
        providers.eligible(for: key.name, type: key.type ?? .a, signed: key.isSigned)
    }

    /// Whether an answer for a protected name came from LocalDNS and its addresses are still to be checked.
    nonisolated func isUnchecked(_ answer: Answer, _ key: FlightKey, _ type: RecordType, _ source: Source) -> Bool {
        source == .localDNS && !answer.isNegative(for: type) && answerCheck?.checks(key, type) == true
    }

    /// Asks until each type is settled, possibly with a failure.
    ///
    /// - Parameters:
    ///   - types: one, or A and AAAA.
    ///   - mode: for this flight; nil: the strategy's own.
    ///   - mayBeLocal: whether LocalDNS is asked for a protected name that the providers deny.
    ///   - settle: called once for each type, also before this returns.
    ///   - hasOtherFamily: whether a client that asks for a type has addresses of the other family. Default: no.
    ///   - done: called once, after the last type is settled, also before this returns; not after `cancel()`.
    @discardableResult
    package func begin(
        _ key: FlightKey, _ types: [RecordType], mode: Mode? = nil, mayBeLocal: Bool = false,
        settle: @escaping @Loop (SourcedResult) -> Void,
        hasOtherFamily: @escaping @Loop (RecordType) -> Bool = { _ in false },
        done: @escaping @Loop () -> Void
    ) -> any SourceRun {
        switch key.route {
        case .bypass: ask(localDNS, key, types, as: .localDNS, settle: settle, done: done)
        case .forward(let index):
            ask(forwarders[index], key, types, as: .forward(index: index), settle: settle, done: done)
        case .portal:
            protect(
                key, types, self.mode == .httpdnsOnly ? .httpdnsOnly : .localDNSFirst, mayBeLocal, settle: settle,
                hasOtherFamily: hasOtherFamily, done: done)
        case .protect:
            protect(
                key, types, mode ?? self.mode, mayBeLocal, settle: settle, hasOtherFamily: hasOtherFamily, done: done)
        }
    }

    /// Asks once more in place of an earlier run for a protected name, whose requests to providers go on where HTTPDNS goes
    /// first. Else like `begin`; the earlier run is to be cancelled then.
    func begin(
        insteadOf earlier: (any SourceRun)?, _ key: FlightKey, _ types: [RecordType], mode: Mode?, mayBeLocal: Bool,
        settle: @escaping @Loop (SourcedResult) -> Void,
        hasOtherFamily: @escaping @Loop (RecordType) -> Bool,
        done: @escaping @Loop () -> Void
    ) -> any SourceRun {
        guard case .protect = key.route, let earlier = earlier as? Runner else {
            return begin(
                key, types, mode: mode, mayBeLocal: mayBeLocal, settle: settle, hasOtherFamily: hasOtherFamily,
                done: done)
        }
        let run = runner(
            key, types, mode ?? self.mode, mayBeLocal, settle: settle, hasOtherFamily: hasOtherFamily, done: done)
        run.start(insteadOf: earlier)
        return run
    }

    private func ask(
        _ upstream: any Upstream, _ key: FlightKey, _ types: [RecordType], as source: Source,
        settle: @escaping @Loop (SourcedResult) -> Void,
        done: @escaping @Loop () -> Void
    ) -> any SourceRun {
        let question = UpstreamQuestion(key, types, until: sources.clock.now + Budget.answer)
        key.note(.ask, "\(upstream.name) is asked for \(types.traceText)")
        return SpawnedWork({ await upstream.ask(question) }) { reply in
            key.note(.reply, "\(upstream.name) (\(reply.server)): \(reply.traceText(types))")
            for type in types {
                settle(SourcedResult(type, reply.results[type] ?? .failure(.timeout), source, reply.server))
            }
            done()
        }
    }

    /// Whether a flight's records may only come from authenticated providers, without their address hints.
    func isGuarded(_ key: FlightKey) -> Bool {
        if case .protect = key.route { key.isServiceBinding && guardsServiceBindings } else { false }
    }

    private func protect(
        _ key: FlightKey, _ types: [RecordType], _ mode: Mode, _ mayBeLocal: Bool,
        settle: @escaping @Loop (SourcedResult) -> Void,
        hasOtherFamily: @escaping @Loop (RecordType) -> Bool,
        done: @escaping @Loop () -> Void
    ) -> any SourceRun {
        let run = runner(key, types, mode, mayBeLocal, settle: settle, hasOtherFamily: hasOtherFamily, done: done)
        run.start()
        return run
    }

    /// What asks for a protected name, once it is started.
    @inline(__always)
    private func runner(
        _ key: FlightKey, _ types: [RecordType], _ mode: Mode, _ mayBeLocal: Bool,
        settle: @escaping @Loop (SourcedResult) -> Void,
        hasOtherFamily: @escaping @Loop (RecordType) -> Bool,
        done: @escaping @Loop () -> Void
    ) -> Runner {
        let isServiceBinding = isGuarded(key)
        let eligible = providers.eligible(
            for: key.name, type: types[0], signed: key.isSigned, authenticatedOnly: isServiceBinding)
        // Address hints of HTTPS and SVCB records reach browsers without A and AAAA queries: never from LocalDNS.
        let mayUseLocalDNS = mode != .httpdnsOnly && !isServiceBinding
        let rules = SourceRules(
            first: mode == .localDNSFirst && mayUseLocalDNS ? .localDNS : .httpdns, hasProviders: !eligible.isEmpty,
            mayUseLocalDNS: mayUseLocalDNS, isServiceBinding: isServiceBinding,
            mayBeLocal: mayBeLocal && mayUseLocalDNS,
            needsProof: answerCheck?.rule.level(for: key.name, by: key.route) == .strict, began: sources.clock.now)
        let slots = Slots(types, rules)
        return Runner(
            key, slots, of: eligible, from: sources, settle: settle, hasOtherFamily: hasOtherFamily, done: done)
    }
}

extension Strategy {
    /// `begin` as an async function.
    package func run(
        _ key: FlightKey, _ types: [RecordType], mayBeLocal: Bool = false,
        settle: @escaping @Loop (SourcedResult) -> Void
    ) async {
        await withCheckedContinuation { continuation in
            begin(key, types, mayBeLocal: mayBeLocal, settle: settle) { continuation.resume() }
        }
    }
}
