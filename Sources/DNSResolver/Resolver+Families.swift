import DNSCache
import DNSWire
import Scheduling

// `[answers] prefer`: one address family is suppressed in favour of the other.

extension Resolver {
    /// Whether the family that a client asks for is suppressed in favour of the other one.
    func isSuppressed(_ client: ClientQuestion) -> Bool {
        policy.localAnswers.families.yields(client.question.type) && !client.isSigned
    }

    /// A NODATA response, when the name has addresses of the family that is preferred to the one asked for; else what was
    /// answered for that one meanwhile, if anything.
    ///
    /// The preferred family is asked for first. After `hedge` the other one is asked for as well, so that a slow family takes
    /// no time from it.
    func preferredInstead(of client: ClientQuestion) async -> Response? {
        guard isSuppressed(client) else { return nil }
        let other = client.asking(for: client.question.type.otherFamily)
        let generation = store.generation
        let hedged = Hedged()
        let hedge = clock.schedule(at: client.arrived + Self.hedge) { [self] in
            // Under another policy the client's question is asked again.
            guard generation == store.generation else { return }
            // Where its TTL is 0 no cache has it.
            lookUp(client) { if case .answer = $0.content { hedged.found = $0 } }
        }
        defer { hedge.cancel() }
        await store.recall(cacheKey(for: other))
        let preferred = await withCheckedContinuation { continuation in
            lookUp(other) { continuation.resume(returning: $0) }
        }
        guard preferred.holds(other.question.type) else { return generation == store.generation ? hedged.found : nil }
        guard let answer = store.keepYielded(client.question, scope: scope(of: client), generation: generation) else {
            return nil
        }
        return Response(.answer(answer, age: 0), from: .source(store.tag(of: .rule), .rule))
    }

    private static let hedge = Duration.milliseconds(300)
}

/// What was answered for the family that yields, while the preferred one is waited for.
@Loop
private final class Hedged {
    var found: Response?
}

extension ResolverPolicy {
    /// Whether records of this type are suppressed where the name has addresses of the other family.
    func suppresses(_ type: RecordType, _ key: FlightKey) -> Bool {
        localAnswers.families.yields(type) && !key.isSigned
    }
}

extension ClientQuestion {
    /// Whether the client validates signatures, or wants them.
    var isSigned: Bool { dnssecOK || checkingDisabled }

    /// The same client's question for another type, of class IN.
    func asking(for type: RecordType) -> ClientQuestion {
        let other = Question(name: question.name, type: type)
        return ClientQuestion(
            question: other, key: QueryKey(other, dnssecOK: dnssecOK, checkingDisabled: checkingDisabled),
            dnssecOK: dnssecOK, checkingDisabled: checkingDisabled, client: client, network: network,
            hidesNetwork: hidesNetwork,
            arrived: arrived, trace: trace)
    }
}

extension Response {
    /// Whether it has a record of this type, fresh or stale.
    fileprivate func holds(_ type: RecordType) -> Bool {
        switch content {
        case .answer(let answer, _), .stale(let answer): answer.holds(type)
        case .failure: false
        }
    }
}
