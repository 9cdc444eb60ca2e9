import DNSCache
import DNSWire
import Scheduling

// HTTPS and SVCB records of protected names: as answered by a provider, with addresses of this resolver as hints.

extension FlightWork {
    /// How long the look-ups of addresses for hints may take; browsers ask for A and AAAA at the same time anyway.
    private static let hintWait = Duration.milliseconds(300)

    /// A provider's answer with its address hints replaced; nil when it must not be sent to a client.
    ///
    /// An answer that is signed, and was asked for with its signatures, cannot be changed: it passes unchanged when
    /// every name that its hints belong to is protected (it was answered by an authenticated provider, as the hints
    /// would be), and otherwise not at all.
    func fitted(_ answer: Answer, _ type: RecordType) async -> ServiceBindings.Fitted? {
        guard let bindings = ServiceBindings(answer, type: type) else { return nil }
        let hints = bindings.hints
        let protected = hints.filter { if case .protect = route(to: $0) { true } else { false } }
        if bindings.isSigned, key.dnssecOK { return protected.count == hints.count ? .init(answer: answer) : nil }
        var targets: [Name] = []
        for hint in protected where !targets.contains(hint.target) { targets.append(hint.target) }
        let wanted = protected.filter { targets.prefix(ServiceBindings.targetLimit).contains($0.target) }
        var known: [ServiceBindings.Hint: ServiceBindings.Addresses] = [:]
        for hint in wanted { known[hint] = cachedAddresses(of: hint) }
        let missing = wanted.filter { known[$0] == nil }
        if !missing.isEmpty {
            await withTaskGroup { group in
                for hint in missing { group.addTask { await self.lookUp(hint) } }
            }
            // All of them: the TTLs of those known before have decreased meanwhile.
            for hint in wanted { known[hint] = cachedAddresses(of: hint) }
        }
        return bindings.rewritten(with: known)
    }

    private func cachedAddresses(of hint: ServiceBindings.Hint) -> ServiceBindings.Addresses? {
        store.addresses(of: hint, scope: scope(of: hint), route: route(to: hint))
    }

    private func route(to hint: ServiceBindings.Hint) -> Route { policy.routes.route(for: hint.target.lowercased, .a) }

    /// The client scope of the addresses of a hint: that of the record's question; nil where no provider of the target,
    /// which may be another name, is sent client networks.
    private func scope(of hint: ServiceBindings.Hint) -> ClientScope? {
        let unasked = policy.strategy.scope(of: nil, name: hint.target.lowercased, route: route(to: hint))
        return unasked == nil ? nil : key.scope ?? .undisclosed
    }

    /// Looks up the addresses for a hint as for a client, so that they are cached.
    private func lookUp(_ hint: ServiceBindings.Hint) async {
        let question = Question(name: hint.target, type: hint.type)
        guard policy.localAnswers.reply(to: question, policy: policy.routes) == nil else { return }
        let asked = policy.flightKey(question.name, question.type, generation: key.generation).asking(
            in: scope(of: hint))
        guard environment.remembered(asked, question.type, by: policy) == nil,
            let flight = Self.join(asked, question.type, by: policy, in: environment)
        else { return }
        _ = await flight.outcome(of: question.type, until: clock.now + Self.hintWait)
    }
}

extension AnswerStore {
    /// The fresh addresses that a provider answered for a hint; nil when none are cached. Fallback answers of LocalDNS
    /// are excluded.
    func addresses(of hint: ServiceBindings.Hint, scope: ClientScope?, route: Route) -> ServiceBindings.Addresses? {
        let question = Question(name: hint.target, type: hint.type)
        let key = QueryKey(question, dnssecOK: false, checkingDisabled: false, scope: scope)
        guard let entry = memory.entry(for: key), isUsable(entry, hint.type, by: route),
            SourceTags.isProvider(entry.source),
            !isStale(entry), !entry.isNegative, let answer = entry.answer.unpacked(for: question)
        else { return nil }
        return ServiceBindings.Addresses(
            list: answer.addresses, ttl: entry.lifetime - min(entry.lifetime, entry.age(at: clock.now)))
    }
}
