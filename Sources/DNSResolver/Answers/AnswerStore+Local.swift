package import DNSCache
package import DNSWire
import Scheduling

// Answers from the configuration.

extension AnswerStore {
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

    /// Whether there is a fresh answer that came by this route, for clients that want no signatures.
    func isFresh(_ question: Question, scope: ClientScope?, by route: Route) -> Bool {
        let key = QueryKey(question, dnssecOK: false, checkingDisabled: false, scope: scope)
        return cached(key, route: route, at: clock.now)?.isFresh == true
    }
}
