package import DNSWire
package import Scheduling

/// Which sources are asked for one flight, in which order and when (Documentation/Strategy.md).
@Loop
package final class Strategy {
    private let selector: ProviderSelector
    private let localDNS: any Upstream
    private let pair: SourcePair
    private let forwarders: [any Upstream]
    private let mode: Mode
    /// Nil: answers of LocalDNS are taken unchecked.
    package nonisolated let answerCheck: AnswerCheck?
    let clock: any LoopClock

    /// Whether HTTPS and SVCB records of protected names come from authenticated providers or not at all.
    nonisolated let guardsServiceBindings: Bool

    /// - Parameters:
    ///   - forwarders: one for each `[[forward]]` entry, in order.
    ///   - answerCheck: checks LocalDNS's answers to protected names; nil: they are not checked.
    ///   - guardsServiceBindings: false passes HTTPS and SVCB on like any other type.
    package nonisolated init(
        mode: Mode, selector: ProviderSelector, localDNS: any Upstream, forwarders: [any Upstream],
        answerCheck: AnswerCheck? = nil, guardsServiceBindings: Bool = true, clock: any LoopClock
    ) {
        self.guardsServiceBindings = guardsServiceBindings
        self.mode = mode
        self.selector = selector
        self.localDNS = localDNS
        pair = SourcePair(selector, localDNS, answerCheck, clock: clock)
        self.forwarders = forwarders
        self.answerCheck = answerCheck
        self.clock = clock
    }

    /// The name of a source in output.
    package nonisolated func name(of source: Source) -> String {
        switch source {
        case .localDNS, .verifiedLocalDNS: localDNS.name
        case .forward(let index): forwarders[index].name
        case .provider(let index): selector.providers[index].name
        case .rule: "a rule"
        case .preset: "a preset"
        }
    }

    /// The types that one flight should ask for when a client wants `type`: both families where one call returns both.
    package nonisolated func types(for type: RecordType, name: Name, route: Route, signed: Bool) -> [RecordType] {
        guard type.isAddress, case .protect = route, let first = first(for: name, type: type, signed: signed),
            first.answersBothFamilies
        else { return [type] }
        return Self.bothFamilies
    }

    /// The most of clients' addresses that is sent to providers; nil: nothing.
    package nonisolated var clientScoping: ClientScoping? { selector.clientScoping }

    /// For which clients an answer holds; nil for all.
    ///
    /// The same for all types of a name, and always the same under one policy: for a name that is asked for by client
    /// network, answers of LocalDNS are cached in that scope too.
    ///
    /// - Parameter client: nil: a look-up without a client.
    package nonisolated func scope(of client: ClientQuestion?, name: Name, route: Route) -> ClientScope? {
        guard let scoping = clientScoping, case .protect = route, selector.tellsNetworks(for: name) else { return nil }
        guard let client else { return .undisclosed }
        return scoping.scope(of: client.client, hidesNetwork: client.hidesNetwork)
    }

    private nonisolated func first(for name: Name, type: RecordType, signed: Bool) -> (any Provider)? {
        guard signed else { return selector.firstEligible(for: name, type: type) }
        return selector.eligible(for: name, type: type, signed: true).first.map { selector.providers[$0] }
    }

    private nonisolated static let bothFamilies: [RecordType] = [.a, .aaaa]

    /// Whether a request waits for a free slot at its service.
    var isBacklogged: Bool { selector.isBacklogged }

    /// How many backoffs of providers have ended, where that matters to a flight.
    func recoveries(for key: FlightKey) -> Int {
        if case .protect = key.route { selector.probes.recoveries } else { 0 }
    }

    /// Which of a flight's providers can be asked, given their backoffs.
    func outlook(for key: FlightKey) -> ProviderSelector.Outlook {
        guard case .protect = key.route else { return .usable }
        return selector.outlook(eligible(for: key))
    }

    /// Whether a provider may be asked for a protected name.
    func hasProvider(for key: FlightKey) -> Bool { !eligible(for: key).isEmpty }

    /// Whether a provider that may be asked for the name has answered any question since, or in the second of `storedAt`,
    /// which has whole seconds.
    func hasProviderAnswered(_ key: FlightKey, since storedAt: Instant) -> Bool {
        eligible(for: key).contains { index in
            selector.providers[index].endpoints.contains { $0.health.hasAnswered(since: storedAt) }
        }
    }

    private func eligible(for key: FlightKey) -> [Int] {
        selector.eligible(for: key.name, type: key.types[0], signed: key.isSigned)
    }

    /// Whether an answer for a protected name came from LocalDNS and its addresses are still to be checked.
    nonisolated func isUnchecked(_ answer: Answer, _ key: FlightKey, _ type: RecordType, _ source: Source) -> Bool {
        source == .localDNS && !answer.isNegative(for: type) && answerCheck?.checks(key, type) == true
    }

    /// Asks until each of the flight's types is settled, possibly with a failure.
    ///
    /// - Parameters:
    ///   - mode: for this flight; nil: the strategy's own.
    ///   - mayBeLocal: whether LocalDNS is asked for a protected name that the providers deny.
    ///   - settle: called once for each type, also before this returns.
    ///   - done: called once, after the last type is settled, also before this returns; not after `cancel()`.
    @discardableResult
    package func begin(
        _ key: FlightKey, mode: Mode? = nil, mayBeLocal: Bool = false, settle: @escaping SettleType,
        done: @escaping @Loop () -> Void
    ) -> any Cancellable {
        switch key.route {
        case .bypass: ask(localDNS, key, as: .localDNS, settle: settle, done: done)
        case .forward(let index): ask(forwarders[index], key, as: .forward(index: index), settle: settle, done: done)
        case .portal:
            protect(
                key, self.mode == .httpdnsOnly ? .httpdnsOnly : .localDNSFirst, mayBeLocal, settle: settle, done: done)
        case .protect: protect(key, mode ?? self.mode, mayBeLocal, settle: settle, done: done)
        }
    }

    private func ask(
        _ upstream: any Upstream, _ key: FlightKey, as source: Source, settle: @escaping SettleType,
        done: @escaping @Loop () -> Void
    ) -> any Cancellable {
        let question = UpstreamQuestion(key, key.types, until: clock.now + Budget.answer)
        return SpawnedWork({ await upstream.ask(question) }) { reply in
            for type in key.types { settle(type, reply.results[type] ?? .failure(.timeout), source, reply.server, nil) }
            done()
        }
    }

    /// Whether a flight's records may only come from authenticated providers, with address hints of this resolver.
    func isGuarded(_ key: FlightKey) -> Bool {
        if case .protect = key.route { key.isServiceBinding && guardsServiceBindings } else { false }
    }

    private func protect(
        _ key: FlightKey, _ mode: Mode, _ mayBeLocal: Bool, settle: @escaping SettleType,
        done: @escaping @Loop () -> Void
    ) -> any Cancellable {
        let isServiceBinding = isGuarded(key)
        let providers = selector.eligible(
            for: key.name, type: key.types[0], signed: key.isSigned, authenticatedOnly: isServiceBinding)
        // Address hints of HTTPS and SVCB records reach browsers without A and AAAA queries: never from LocalDNS.
        let mayUseLocalDNS = mode != .httpdnsOnly && !isServiceBinding
        let first: Contender = mode == .localDNSFirst && mayUseLocalDNS ? .localDNS : .httpdns
        let began = clock.now
        let race = SourceRace(
            key.types, first: first, hasProviders: !providers.isEmpty, mayUseLocalDNS: mayUseLocalDNS,
            isServiceBinding: isServiceBinding, mayBeLocal: mayBeLocal, began: began)
        let job = SourcePair.Job(key: key, providers: providers, began: began)
        let run = SourceRun(job, race, of: pair, settle: settle, done: done)
        guard !providers.isEmpty || mayUseLocalDNS else {
            // A service binding may be denied to a client; for any other type an empty response would be false.
            let result: UpstreamResult =
                isServiceBinding
                ? .indeterminateEmpty(ttl: nil) : .failure(.unusable("no provider for this name and type"))
            for type in key.types { settle(type, result, .rule, "", nil) }
            done()
            return run
        }
        run.start()
        return run
    }
}

extension Strategy {
    /// `begin` as an async function.
    package func run(_ key: FlightKey, mayBeLocal: Bool = false, settle: @escaping SettleType) async {
        await withCheckedContinuation { continuation in
            begin(key, mayBeLocal: mayBeLocal, settle: settle) { continuation.resume() }
        }
    }
}
