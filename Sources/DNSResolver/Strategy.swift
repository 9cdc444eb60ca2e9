package import DNSWire
package import Scheduling

/// Which sources are asked for one flight, in which order and when (design: steps 8 to 10 and "Budget").
@Loop
package final class Strategy {
    private let selector: ProviderSelector
    private let localDNS: any Upstream
    private let forwarders: [any Upstream]
    private let mode: Mode
    /// Nil: what LocalDNS tells is taken as it is.
    package nonisolated let answerCheck: AnswerCheck?
    private let clock: any LoopClock

    /// Whether HTTPS and SVCB records of protected names come from authenticated providers or not at all.
    nonisolated let guardsServiceBindings: Bool

    /// - Parameters:
    ///   - forwarders: one for each `[[route.forward]]` entry, in order.
    ///   - answerCheck: what is done about LocalDNS's answers to protected names; nil: nothing.
    ///   - guardsServiceBindings: false passes HTTPS and SVCB on like any other type.
    package nonisolated init(
        mode: Mode, selector: ProviderSelector, localDNS: any Upstream, forwarders: [any Upstream],
        answerCheck: AnswerCheck? = nil, guardsServiceBindings: Bool = true, clock: any LoopClock
    ) {
        self.guardsServiceBindings = guardsServiceBindings
        self.mode = mode
        self.selector = selector
        self.localDNS = localDNS
        self.forwarders = forwarders
        self.answerCheck = answerCheck
        self.clock = clock
    }

    /// What a source is called in output.
    package nonisolated func name(of source: Source) -> String {
        switch source {
        case .localDNS: localDNS.name
        case .verifiedLocalDNS: "\(localDNS.name)(verified)"
        case .forward(let index): forwarders[index].name
        case .provider(let index): selector.providers[index].name
        case .rule: "a rule"
        case .preset: "a preset"
        }
    }

    /// Receives each type's result as soon as it is final, and the server of the source that told it.
    package typealias Settle = @Loop (RecordType, UpstreamResult, Source, _ server: String) -> Void

    /// The types that one flight should ask when a client wants `type`: both families where one call brings both.
    package nonisolated func types(for type: RecordType, name: Name, route: Route, signed: Bool) -> [RecordType] {
        guard type.isAddress, case .protect = route,
            let first = selector.eligible(for: name, type: type, signed: signed).first,
            selector.providers[first].answersBothFamilies
        else { return [type] }
        return [.a, .aaaa]
    }

    /// How much providers are told of clients' addresses at most; nil: nothing.
    package nonisolated var clientScoping: ClientScoping? { selector.clientScoping }

    /// For which clients an answer holds; nil for all.
    ///
    /// The same for all types of a name, and under one policy always the same: also what LocalDNS tells of a name that is
    /// asked for by network is kept so.
    ///
    /// - Parameter client: nil asks for nobody.
    package nonisolated func scope(of client: ClientQuestion?, name: Name, route: Route) -> ClientScope? {
        guard let scoping = clientScoping, case .protect = route, selector.tellsNetworks(for: name) else { return nil }
        guard let client else { return .untold }
        return scoping.scope(of: client.client, hidesNetwork: client.hidesNetwork)
    }

    /// How often a provider has come back, as far as it matters to a flight.
    func recoveries(for key: FlightKey) -> Int { if case .protect = key.route { selector.recoveries } else { 0 } }

    /// Whether a provider of a flight was left alone, and its next question is what finds out whether it is back.
    func awaitsTrial(_ key: FlightKey) -> Bool {
        guard case .protect = key.route else { return false }
        return selector.awaitTrial(
            selector.eligible(for: key.name, type: key.types[0], signed: key.dnssecOK || key.checkingDisabled))
    }

    /// Whether an answer was told by LocalDNS for a protected name, and its addresses are still to be checked.
    nonisolated func isUnchecked(_ answer: Answer, _ key: FlightKey, _ type: RecordType, _ source: Source) -> Bool {
        source == .localDNS && !answer.isNegative(for: type) && answerCheck?.level(for: key, type) != nil
    }

    /// Asks until each of the flight's types is settled, with a failure if need be.
    ///
    /// - Parameter mode: for this flight; nil: the strategy's own.
    package func run(_ key: FlightKey, mode: Mode? = nil, settle: @escaping Settle) async {
        switch key.route {
        case .bypass:
            await ask(localDNS, key, as: .localDNS, settle: settle)
        case .forward(let index):
            await ask(forwarders[index], key, as: .forward(index: index), settle: settle)
        case .protect:
            await protect(key, mode ?? self.mode, settle: settle)
        }
    }

    private func ask(_ upstream: any Upstream, _ key: FlightKey, as source: Source, settle: Settle) async {
        let reply = await upstream.ask(question(key, key.types, until: clock.now + Budget.answer))
        for type in key.types { settle(type, reply.results[type] ?? .failure(.timeout), source, reply.server) }
    }

    /// Whether a flight's records may only come from authenticated providers, with hints of ours.
    func isGuarded(_ key: FlightKey) -> Bool {
        if case .protect = key.route { key.isServiceBinding && guardsServiceBindings } else { false }
    }

    private func protect(_ key: FlightKey, _ mode: Mode, settle: @escaping Settle) async {
        let isServiceBinding = isGuarded(key)
        let providers = selector.eligible(
            for: key.name, type: key.types[0], signed: key.dnssecOK || key.checkingDisabled,
            authenticatedOnly: isServiceBinding)
        // Address hints of HTTPS and SVCB records reach browsers past A and AAAA: never from LocalDNS.
        let mayUseLocalDNS = mode != .httpdnsOnly && !isServiceBinding
        guard !providers.isEmpty || mayUseLocalDNS else {
            // A service binding may be kept from a client; of anything else "no" is not ours to say.
            let result: UpstreamResult =
                isServiceBinding ? .unknownEmpty(ttl: nil) : .failure(.unusable("no provider for this name and type"))
            for type in key.types { settle(type, result, .rule, "") }
            return
        }
        let first: Contender = mode == .localdnsFirst && mayUseLocalDNS ? .localDNS : .httpdns
        var race = SourceRace(
            key: key, providers: providers, first: first, mayUseLocalDNS: mayUseLocalDNS,
            isServiceBinding: isServiceBinding, began: clock.now,
            settle: settle)
        await run(&race, first: first, second: first == .httpdns ? .localDNS : .httpdns)
    }

    private enum Event: Sendable {
        case httpdns(ProviderSelector.Reply)
        /// Both families came at once, or neither.
        case nothingEarly
        case localDNS(RecordType, LocalDNSResult, server: String)
        case secondDue
    }

    /// Starts the first source, and the second when it is due or the first has failed.
    private func run(_ race: inout SourceRace, first: Contender, second: Contender) async {
        let secondStart =
            first == .httpdns && selector.areSetAside(race.providers) ? race.began : race.began + Budget.reserve
        await withTaskGroup(of: Event.self) { group in
            start(first, &race, in: &group)
            group.addTask { await self.due(secondStart) }
            if race.needsSecond { start(second, &race, in: &group) }
            while !race.isOver, let event = await group.next() {
                switch event {
                case .secondDue: start(second, &race, in: &group)
                case .httpdns(let reply): race.take(reply)
                case .nothingEarly: break
                case .localDNS(let type, let result, let server): race.take(type, result, from: server)
                }
                if race.needsSecond { start(second, &race, in: &group) }
            }
            group.cancelAll()
        }
        race.settleRest()
    }

    private func start(_ contender: Contender, _ race: inout SourceRace, in group: inout TaskGroup<Event>) {
        let (key, providers, began, first) = (race.key, race.providers, race.began, race.first)
        for work in race.start(contender, at: clock.now) {
            switch work {
            case .httpdns(let types):
                let early = EarlyReply()
                if types.count > 1 { group.addTask { await self.early(early) } }
                group.addTask { await self.askProviders(key, types, providers, began: began, early) }
            case .localDNS(let type):
                group.addTask { await self.askLocalDNS(key, type, began: began, isFirst: first == .localDNS) }
            }
        }
    }

    private func due(_ instant: Instant) async -> Event {
        await clock.sleep(until: instant)
        return .secondDue
    }

    private func askProviders(
        _ key: FlightKey, _ types: [RecordType], _ providers: [Int], began: Instant, _ early: EarlyReply
    ) async -> Event {
        let question = question(key, types, until: began + Budget.lastStart)
        let reply = await selector.ask(question, of: providers, early: early)
        early.close()
        return .httpdns(reply)
    }

    /// One family's answer while the other one is still asked for.
    private func early(_ early: EarlyReply) async -> Event { await early.wait().map { .httpdns($0) } ?? .nothingEarly }

    /// - Parameter isFirst: whether its answer is taken at once, and checked only behind.
    private func askLocalDNS(
        _ key: FlightKey, _ type: RecordType, began: Instant, isFirst: Bool
    ) async -> Event {
        let reply = await localDNS.ask(question(key, [type], until: began + Budget.answer))
        let result = reply.results[type] ?? .failure(.timeout)
        guard let answerCheck else { return .localDNS(type, LocalDNSResult(result), server: reply.server) }
        return .localDNS(
            type,
            isFirst
                ? answerCheck.withoutKnownLies(result, to: key, type)
                : await answerCheck.judged(result, to: key, type, began: began),
            server: reply.server)
    }

    private nonisolated func question(_ key: FlightKey, _ types: [RecordType], until deadline: Instant)
        -> UpstreamQuestion
    {
        UpstreamQuestion(
            name: key.name, types: types, dnssecOK: key.dnssecOK, checkingDisabled: key.checkingDisabled,
            clientNetwork: key.scope?.network, deadline: deadline)
    }
}
