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

// Addresses that stand for others, by the prefix of the policy in force (DNS64).

extension AnswerStore {
    /// The route under which they are cached: they are of no use by another prefix, or without one. No `[[forward]]` entry has it.
    private static let translatedRoute = UInt16.max - 2

    /// Whether the addresses were made of others, by the prefix of the policy of that time.
    func isTranslated(_ entry: CacheEntry) -> Bool { entry.route == Self.translatedRoute }

    /// The number of the route under which an answer is cached.
    func routeTag(of route: Route, isTranslated: Bool) -> UInt16 { isTranslated ? Self.translatedRoute : route.tag }

    /// Whether a provider's answer may be used only while the policy is in force by which it was decided.
    ///
    /// Service bindings lose their hints by one policy and keep them by another. Addresses that were made of others are wrong by
    /// another prefix, and "no IPv6 address" is wrong since there is one. So are addresses of a family that is suppressed now.
    func dependsOnPolicy(_ entry: CacheEntry, _ type: RecordType) -> Bool {
        type.isServiceBinding || isTranslated(entry) || isTranslating && type == .aaaa && entry.isNegative
            || type == suppressed && !entry.isNegative
    }
}
