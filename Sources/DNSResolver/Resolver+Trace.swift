package import DNSWire
import Scheduling

// The story of an answer, for an operator.

extension Resolver {
    /// Answers a question as that of a client of this machine, and tells how.
    ///
    /// Sources are asked, and their answers cached, as for any client.
    package func trace(_ question: Question) async -> (trace: Trace, response: Response) {
        let trace = Trace(clock: clock)
        trace.add(.route, decision(on: question))
        if !isOn { trace.add(.route, "HTTPDNS is switched off") }
        let client = ClientQuestion(
            question: question, key: QueryKey(question, dnssecOK: false, checkingDisabled: false),
            client: .v4(0x7f00_0001), arrived: clock.now, trace: trace)
        let response = await withCheckedContinuation { continuation in
            respond(to: client) { continuation.resume(returning: $0) }
        }
        let source = sourceName(response.kind, response.source)
        trace.add(.answer, "\(response.traceText(for: question)); \(source.pairs)")
        return (trace, response)
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

    /// Notes what the cache has for a question.
    func note(_ cached: AnswerStore.Cached?, _ type: RecordType, _ key: FlightKey, in trace: Trace) {
        let cacheKey = QueryKey(
            Question(name: key.name, type: type), dnssecOK: key.dnssecOK, checkingDisabled: key.checkingDisabled,
            scope: key.scope)
        let provenance = store.provenance(of: cacheKey, type, route: key.route, sourceName: policy.sourceName)
        guard let provenance else { return trace.add(.cache, "\(type) is not cached") }
        let use =
            switch cached {
            case nil: "not used"
            case let cached? where cached.isFresh: "used"
            case _?: "used if nothing better comes"
            }
        trace.add(.cache, "\(provenance.text): \(use)")
    }
}
