package import DNSCache
package import DNSWire
package import Scheduling

/// The memory cache as the resolver sees it: what may still be used of an answer, and in which form answers are kept.
@Loop
package final class AnswerStore {
    /// Seconds that "no address of this family" is kept when that family's question failed and the other one's did not.
    private static let failedFamilyTTL: UInt32 = 5

    private let memory: MemoryCache
    private let freshness: FreshnessPolicy
    private let policyGeneration: PolicyGeneration
    private let clock: any LoopClock

    package nonisolated init(
        memory: MemoryCache, freshness: FreshnessPolicy, generation: PolicyGeneration, clock: any LoopClock
    ) {
        self.memory = memory
        self.freshness = freshness
        self.policyGeneration = generation
        self.clock = clock
    }

    /// The generation of the policy in force; a flight stores its answers under the one in which it began.
    package var generation: UInt32 { policyGeneration.current }

    /// An answer that is fresh, or stale and of use when nothing better comes.
    package struct Kept {
        /// Nil when it is fresh; else how long a client waits for a better one.
        package let wait: Duration?
        package let response: Response

        package var isFresh: Bool { wait == nil }
    }

    /// What is kept for `key`, if it was obtained by this route.
    package func kept(_ key: QueryKey, route: Route, at now: Instant) -> Kept? {
        guard let entry = memory.entry(for: key), entry.route == route.tag else { return nil }
        switch entry.freshness(at: now, freshness) {
        case .fresh:
            // Decided anew under the present policy, with the same result: the UDP threads may serve it again.
            if entry.generation != generation { memory.restamp(key, generation: generation) }
            return Kept(wait: nil, response: Response(.answer(entry.answer, age: entry.age(at: now))))
        case .stale(let wait):
            let isNXDomain = entry.answer.responseCode == .nameError
            let error = ExtendedError(isNXDomain ? .staleNXDomainAnswer : .staleAnswer)
            return Kept(wait: wait, response: Response(.stale(entry.answer), extendedError: error))
        case .dead:
            return nil
        }
    }

    /// Keeps what a source told.
    ///
    /// - Returns: the answer in the form in which it is sent; nil when it is too long for any message.
    package func keep(
        _ answer: Answer, for key: FlightKey, _ type: RecordType, _ source: Source, _ generation: UInt32
    ) -> PackedAnswer? {
        let question = Question(name: key.name, type: type)
        let normalized = freshness.normalized(answer, for: question)
        guard let packed = PackedAnswer(normalized, for: question) else { return nil }
        memory.store(
            CacheEntry(
                answer: packed, storedAt: clock.now, lifetime: freshness.lifetime(of: normalized, for: type),
                generation: generation, route: key.route.tag, source: source.tag,
                isNegative: normalized.isNegative(for: type)),
            for: queryKey(key, type))
        return packed
    }

    /// Keeps NODATA for a name of which every source said "nothing" without a cause.
    ///
    /// - Returns: nil, with nothing kept, while there is an older answer: only a told "no such name" or "no such record"
    ///   ends its use.
    package func keepEmpty(
        ttl: UInt32?, for key: FlightKey, _ type: RecordType, _ source: Source, _ generation: UInt32
    ) -> PackedAnswer? {
        guard kept(queryKey(key, type), route: key.route, at: clock.now) == nil else { return nil }
        let ttl = min(ttl ?? freshness.negativeTTL, freshness.negativeTTL)
        return keep(.negative(name: key.name, ttl: ttl), for: key, type, source, generation)
    }

    /// Keeps NODATA for a short time for a family whose question failed, if the name has addresses of the other family.
    ///
    /// musl fails a whole look-up when one family is SERVFAIL. An older answer of the failed family goes before.
    package func keepFailedFamily(_ key: FlightKey, _ type: RecordType, _ generation: UInt32) -> PackedAnswer? {
        guard type.isAddress, kept(queryKey(key, type), route: key.route, at: clock.now) == nil else { return nil }
        let sibling = queryKey(key, type == .a ? .aaaa : .a)
        guard let entry = memory.entry(for: sibling), entry.route == key.route.tag, !entry.isNegative,
            case .fresh = entry.freshness(at: clock.now, freshness)
        else { return nil }
        return keep(.negative(name: key.name, ttl: Self.failedFamilyTTL), for: key, type, .rule, generation)
    }

    private func queryKey(_ key: FlightKey, _ type: RecordType) -> QueryKey {
        QueryKey(
            Question(name: key.name, type: type), dnssecOK: key.dnssecOK, checkingDisabled: key.checkingDisabled)
    }
}
