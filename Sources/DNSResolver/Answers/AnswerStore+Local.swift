package import DNSCache
package import DNSWire
import Scheduling

// Answers without a source: from the configuration, or because one family is suppressed in favour of the other.

extension AnswerStore {
    /// The most seconds for which "no address of this family" is cached, where the other family is preferred.
    private static let yieldedTTL: UInt32 = 300
    /// The route under which answers from the configuration are cached, which no question takes: the UDP threads serve
    /// them in the present generation, and on the loop they are made again.
    private static let localRoute = UInt16.max

    /// Caches an answer from the configuration for the UDP threads, until it expires or the generation ends.
    ///
    /// - Returns: nil when it is longer than a message can be.
    package func keepLocal(_ answer: Answer, for client: ClientQuestion, _ source: Source) -> PackedAnswer? {
        let answer = withBadAddressesLast(answer)
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

    /// Whether the UDP threads serve it although no question takes its route.
    func isLocal(_ entry: CacheEntry) -> Bool { entry.route == Self.localRoute && entry.generation == generation }

    /// Caches NODATA for a family that is suppressed in favour of the other one, no longer than that one's addresses
    /// are fresh.
    ///
    /// - Parameters:
    ///   - scope: the clients for which it holds.
    ///   - began: the generation in which it was decided.
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

    /// Removes the addresses of the suppressed family, now that there are some of the preferred one.
    func removeYielding(_ question: Question, scope: ClientScope?) { memory.remove(unsignedKey(question, scope)) }

    /// Whether there is a fresh answer that came by this route, for clients that want no signatures.
    func isFresh(_ question: Question, scope: ClientScope?, by route: Route) -> Bool {
        cached(unsignedKey(question, scope), route: route, at: clock.now)?.isFresh == true
    }

    private func unsignedKey(_ question: Question, _ scope: ClientScope?) -> QueryKey {
        QueryKey(question, dnssecOK: false, checkingDisabled: false, scope: scope)
    }
}
