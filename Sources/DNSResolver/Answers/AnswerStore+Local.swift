package import DNSCache
package import DNSWire
import Scheduling

// Answers that no source told: by the configuration, or because one family gives way to the other.

extension AnswerStore {
    /// Seconds for which "no address of this family" is kept at most, where the other family is preferred.
    private static let yieldedTTL: UInt32 = 300
    /// The route under which answers by the configuration are kept, which no question goes by: the UDP threads serve
    /// them under the present generation, and here they are made anew.
    private static let localRoute = UInt16.max

    /// Keeps what the configuration answers for the UDP threads, until it or the generation ends.
    ///
    /// - Returns: nil when it is longer than a message can be.
    package func keepLocal(_ answer: Answer, for client: ClientQuestion, _ source: Source) -> PackedAnswer? {
        let answer = sunk(answer)
        guard let packed = PackedAnswer(answer, for: client.question) else { return nil }
        let isNegative = answer.isNegative(for: client.question.type)
        let ttls = isNegative ? answer.authorities.map(\.ttl) : answer.answers.map(\.ttl)
        memory.store(
            CacheEntry(
                answer: packed, storedAt: clock.now, lifetime: ttls.min() ?? 0, generation: generation,
                route: Self.localRoute, source: tag(of: source), isNegative: isNegative),
            for: client.key)
        return packed
    }

    /// Whether the UDP threads serve it though no question goes by its route.
    func isLocal(_ entry: CacheEntry) -> Bool { entry.route == Self.localRoute && entry.generation == generation }

    /// Keeps "no such record" for a family that gives way to the other one, no longer than that one's addresses are fresh.
    ///
    /// - Parameters:
    ///   - scope: the clients that it is for.
    ///   - began: the generation by which it was decided.
    func keepYielded(_ question: Question, scope: ClientScope?, generation began: UInt32) -> PackedAnswer? {
        let now = clock.now
        let other = Question(name: question.name, type: question.type.otherFamily)
        var left: UInt32 = 0
        if let entry = memory.entry(for: unsignedKey(other, scope)), entry.generation == generation {
            left = entry.lifetime - min(entry.age(at: now), entry.lifetime)
        }
        let ttl = min(max(left, 1), Self.yieldedTTL)
        let answer = Answer.negative(name: question.name, ttl: ttl)
        guard let packed = PackedAnswer(answer, for: question) else { return nil }
        guard left > 0, began == generation else { return packed }
        memory.store(
            CacheEntry(
                answer: packed, storedAt: now, lifetime: ttl, generation: generation, route: Self.localRoute,
                source: tag(of: .rule), isNegative: true),
            for: unsignedKey(question, scope))
        return packed
    }

    /// Forgets the addresses of the family that gives way, now that there are some of the preferred one.
    func removeYielding(_ question: Question, scope: ClientScope?) { memory.remove(unsignedKey(question, scope)) }

    /// Whether there is a fresh answer that came by this route, for who wants no signatures.
    func isFresh(_ question: Question, scope: ClientScope?, by route: Route) -> Bool {
        kept(unsignedKey(question, scope), route: route, at: clock.now)?.isFresh == true
    }

    private func unsignedKey(_ question: Question, _ scope: ClientScope?) -> QueryKey {
        QueryKey(question, dnssecOK: false, checkingDisabled: false, scope: scope)
    }
}
