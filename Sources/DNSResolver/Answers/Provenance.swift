public import DNSCache
public import DNSWire

extension HijackedAddress {
    /// One line of `key=value` words on an address that LocalDNS gave and that is not the name's; the reason is last.
    var provenanceText: String {
        let words = [
            "check=wrong-certificate", "address=\(address)", "port=\(port)", "seen=\(count)",
            evidence.fingerprint.isEmpty ? nil : "sha256=\(evidence.fingerprint)", "reason=\(evidence)",
        ]
        return words.compactMap { $0 }.joined(separator: " ")
    }
}

extension Question {
    /// The name that a question of class CH asks about, in lower case, as that for why.www.example.com; nil for one of another
    /// kind.
    var provenanceSubject: Name? {
        let name = name.lowercased
        guard type == .txt, name.labels.count > 1, name.labels.first?.elementsEqual("why".utf8) == true else {
            return nil
        }
        return name.parent
    }
}

/// Where cached answers came from, and what decides about names, by the policy in force: for operators.
@Loop
public struct Provenance {
    private let flights: Flights
    private let policy: ResolverPolicy
    private let store: AnswerStore
    private let configured: ResolverPolicy
    private let placeOfRule: @Loop (RoutingRule) -> String?

    /// - Parameter placeOfRule: where the configuration has an entry; nil where it has none.
    init(_ flights: Flights, configured: ResolverPolicy, placeOfRule: @escaping @Loop (RoutingRule) -> String?) {
        self.flights = flights
        policy = flights.policy
        store = flights.store
        self.configured = configured
        self.placeOfRule = placeOfRule
    }

    /// The types that are looked for, the likeliest first.
    private static let explainedTypes = ["A", "AAAA", "HTTPS", "CNAME", "MX", "TXT", "SRV", "PTR", "NS", "SOA"]
        .compactMap { RecordType($0) }

    /// The most forgeries of one name that are reported, the ones seen last: more are in `cache show`.
    private static let hijacksShown = 4

    /// The source of a cached answer, in output.
    public func sourceName(of cached: CachedAnswer) -> SourceName {
        let route = policy.routes.route(for: cached.name, cached.type)
        return policy.sourceName(cached.entry.source, by: store.rules.obtained(cached.entry, by: route))
    }

    /// The source of an answered question, in output.
    public func sourceName(_ kind: AnswerKind, _ tag: UInt16?) -> SourceName {
        // What was cached is called so, and not by where it came from first.
        guard let tag, kind == .provider || kind == .shared else { return SourceName(kind) }
        return policy.sourceName(tag, by: .bypass)
    }

    /// The origin of the cached answer to a type, as one line of `key=value` words; nil when there is none.
    private func origin(of key: FlightKey, _ type: RecordType) -> String? {
        guard let entry = store.memory.entry(for: key.cacheKey(type)) else { return nil }
        let age = entry.age(at: flights.clock.now)
        let (state, ttl): (String, UInt32?) =
            switch use(of: entry, type, by: key.route) {
            case .fresh?: ("fresh", entry.lifetime - min(age, entry.lifetime))
            case .stale?: ("stale", nil)
            case nil: ("unusable", nil)
            }
        let source = policy.sourceName(entry.source, by: store.rules.obtained(entry, by: key.route))
        let server = store.serverNames.name(of: entry.server)
        let words = [
            "type=\(type)", "route=\(key.route)", source.pairs, server.isEmpty ? nil : "server=\(server)",
            store.rules.isTranslated(entry) ? "made=dns64" : nil, "state=\(state)", "age=\(age)",
            ttl.map { "ttl=\($0)" },
        ]
        return words.compactMap { $0 }.joined(separator: " ")
    }

    /// What the cache has for a question, and the use of it.
    func text(of cached: AnswerStore.Cached?, _ type: RecordType, _ key: FlightKey) -> String {
        guard let origin = origin(of: key, type) else { return "\(type) is not cached" }
        let use =
            switch cached {
            case nil: "not used"
            case let cached? where cached.isFresh: "used"
            case _?: "used if nothing better comes"
            }
        return "\(origin): \(use)"
    }

    /// How an entry may be used now, for a question with this `route`; nil: it is too old, or from a source or by a route
    /// that is no longer in force.
    private func use(of entry: CacheEntry, _ type: RecordType, by route: Route) -> AnswerStore.Cached.Age? {
        let now = flights.clock.now
        guard store.rules.isLocal(entry) else { return store.age(of: entry, type, by: route, at: now) }
        return entry.age(at: now) < entry.lifetime ? .fresh(isEnding: false) : nil
    }

    /// Whether a cached answer may be given to a client, by the policy in force.
    public func isUsable(_ cached: CachedAnswer) -> Bool {
        let question = Question(name: cached.name, type: cached.type)
        let isSigned = cached.dnssecOK || cached.checkingDisabled
        if !store.rules.isLocal(cached.entry),
            policy.localAnswers.reply(to: question, policy: policy.routes, isSigned: isSigned) != nil
        {
            return false
        }
        return use(of: cached.entry, cached.type, by: policy.routes.route(for: cached.name, cached.type)) != nil
    }

    /// The answer to `dig why.www.example.com CH TXT`, a question about `subject`: a record for each line. Refused to other machines, which need not know
    /// what this one asks for.
    func reply(about subject: Name, to client: ClientQuestion) -> LocalAnswers.Reply {
        guard client.client.isLoopback else {
            return .refusal(.refused, ExtendedError(.prohibited, "only programs of this machine may ask this"))
        }
        let lines = explanation(of: subject, for: client)
        return .answer(Answer(answers: lines.map { .chaosText($0, name: client.question.name) }))
    }

    /// One line for what decides about `subject`, one for each cached answer, with the client's DO and CD bits, and for
    /// each type that failed since, else one that says that there is none; and one for each detected forgery.
    public func explanation(of subject: Name, for client: ClientQuestion) -> [String] {
        let keys = Self.explainedTypes.map { type in (type, flights.key(subject, type, for: client)) }
        var lines = keys.compactMap { type, key in origin(of: key, type) }
        lines += keys.compactMap { type, key in
            store.failures.last(key, type).map { failure in
                let age = max(.zero, flights.clock.now - failure.asked).components.seconds
                return
                    "type=\(type) route=\(key.route) \(SourceName(.failure).pairs) state=failed age=\(age) reason=\(failure.error.text)"
            }
        }
        if lines.isEmpty {
            let question = Question(name: subject, type: .a)
            let local = policy.localAnswers.reply(to: question, policy: policy.routes)
            lines = [
                local.map { "\(SourceName($0.kind).pairs) state=answered-here" }
                    ?? "route=\(policy.routes.route(for: subject.lowercased, .a)) state=not-cached"
            ]
        }
        lines.insert("decision=\(decision(on: Question(name: subject, type: .a)))", at: 0)
        let forged = policy.lines.checks.journal.entries(of: subject)
        lines += forged.prefix(Self.hijacksShown).map(\.provenanceText)
        return lines
    }

    /// What decides about a question, with the place in the configuration.
    func decision(on question: Question) -> String {
        let name = question.name.lowercased
        switch policy.localAnswers.reply(to: question, policy: policy.routes) {
        case .configured(_, .preset)?:
            guard case .preset(let entry, let isWildcard)? = policy.localAnswers.presets.rule(for: name) else { break }
            let rule = RoutingRule.preset(entry, isWildcard: isWildcard)
            return "answered here: a preset has \(isWildcard ? "*." : "")\(entry)\(place(rule))"
        case .configured?: return "answered here: answers.prefer excludes \(question.type)"
        case .answer?: return "answered here: a special-use name"
        case .refusal?: return "answered here: refused"
        case nil: break
        }
        let (reason, rule) = configured.routes.decision(on: name)
        let (route, configuredRoute) = (policy.routes.route(for: name, .a), configured.routes.route(for: name, .a))
        let text = "\(configuredRoute): \(reason)\(rule.map(place) ?? "")"
        // Of a name that LocalDNS has anyway the switch decides nothing.
        return route == configuredRoute ? text : "\(route): HTTPDNS is switched off; else \(text)"
    }

    private func place(_ rule: RoutingRule) -> String { placeOfRule(rule).map { " (\($0))" } ?? "" }
}
