public import DNSCache
public import DNSWire

/// The resolver's view of the memory cache: which answers may still be used, and in which form answers are cached.
@Loop
public final class AnswerStore {
    let memory: MemoryCache
    private(set) var freshness: FreshnessPolicy
    private(set) var rules: AnswerRules
    let clock: any LoopClock
    private let badAddresses: BadAddresses
    let failures = FailureMemory()
    public let serverNames = ServerNames()
    /// Whether the addresses of an answer rotate where its source gave them no order. Default true. Cached answers follow
    /// with the next generation.
    public var rotatesAddresses = true
    /// Where answers are stored beyond this process, if anywhere.
    public var archive: (any AnswerArchive)?

    /// What goes through all answers.
    public var walks: CacheWalks { CacheWalks(memory: memory, archive: archive, clock: clock) }

    public nonisolated init(
        memory: MemoryCache, freshness: FreshnessPolicy, generation: PolicyGeneration, policy: ResolverPolicy,
        badAddresses: BadAddresses, clock: any LoopClock
    ) {
        self.memory = memory
        self.freshness = freshness
        rules = AnswerRules(policy: policy, generations: Generations(generation))
        self.badAddresses = badAddresses
        self.clock = clock
    }

    /// How long a client waits for a newer answer than a stale one that is not old.
    var staleWait: Duration { freshness.staleWait }

    /// The generation of policy and network.
    public var generation: UInt32 { rules.generations.current }

    /// Changes to another policy, with `freshness` for what is cached from now on.
    public func adopt(_ policy: ResolverPolicy, _ freshness: FreshnessPolicy) {
        rules.policy = policy
        self.freshness = freshness
    }

    /// Makes the answers stored so far a miss for the UDP threads, so that they are decided again here.
    public func beginGeneration() { rules.generations.beginPolicy() }

    /// Makes the answers stored so far stale: still served when nothing better comes in time.
    public func beginNetwork() { rules.generations.beginNetwork() }

    /// Whether an entry is past its TTL, or from another network.
    public func isStale(_ entry: CacheEntry) -> Bool {
        entry.age(at: clock.now) >= entry.lifetime || !rules.generations.isOfNetwork(entry.generation)
    }

    /// An answer that is fresh, or stale and used when nothing better comes. An object: mostly there is none, and
    /// waiting clients refer to it.
    public final class Cached: Sendable {
        public enum Age: Hashable, Sendable {
            /// - Parameter isEnding: whether its TTL is near its end, so that it is prefetched if clients ask for it.
            case fresh(isEnding: Bool)
            /// - Parameter isYoung: whether it expired no longer ago than its TTL.
            case stale(isYoung: Bool)
        }

        public let age: Age
        /// The number of its source.
        let source: UInt16
        public let response: Response

        fileprivate init(_ age: Age, source: UInt16, _ response: Response) {
            self.age = age
            self.source = source
            self.response = response
        }

        public var isFresh: Bool { if case .fresh = age { true } else { false } }

        /// Whether a source gave it: it was not made here.
        public var isFromSource: Bool { SourceTags.isSource(source) }
    }

    /// The cached answer to a type of a flight, if it was obtained by the same route.
    func cached(_ key: FlightKey, _ type: RecordType) -> Cached? {
        let (cacheKey, now) = (key.cacheKey(type), clock.now)
        guard var entry = memory.entry(for: cacheKey), let age = age(of: entry, type, by: key.route, at: now) else {
            return nil
        }
        guard case .fresh = age else { return Cached(age, source: entry.source, stale(entry, at: now)) }
        // Decided again under the present policy, with the same result: the UDP threads may serve it again.
        if entry.generation != generation {
            entry.answer.rotates = mayRotate(entry.answer)
            memory.restamp(cacheKey, generation: generation, rotates: entry.answer.rotates)
        }
        return Cached(
            age, source: entry.source, Response(.answer(entry.answer, age: entry.age(at: now)), from: .cache))
    }

    /// Stores a provider's fresh answer also with the flags of a client that the flight does not heed: there the UDP threads
    /// look for it.
    func share(_ cached: Cached, _ key: FlightKey, with client: ClientQuestion) {
        guard (key.dnssecOK, key.checkingDisabled) != (client.dnssecOK, client.checkingDisabled),
            SourceTags.isProvider(cached.source)
        else { return }
        let cacheKey = key.cacheKey(client.question.type)
        guard let entry = memory.entry(for: cacheKey) else { return }
        memory.noteHit(cacheKey)
        memory.store(
            entry,
            for: QueryKey(
                Question(name: key.name, type: client.question.type), dnssecOK: client.dnssecOK,
                checkingDisabled: client.checkingDisabled, scope: key.scope))
    }

    func isOfLocalDNS(_ cached: Cached) -> Bool { rules.isOfLocalDNS(cached.source) }

    /// How an entry may be used for a question with this `route`; nil: not at all.
    func age(of entry: CacheEntry, _ type: RecordType, by route: Route, at now: Instant) -> Cached.Age? {
        guard rules.isUsable(entry, type, by: route) else { return nil }
        return switch entry.freshness(at: now, freshness) {
        case .fresh where rules.generations.isOfNetwork(entry.generation): .fresh(isEnding: !entry.isHit(at: now))
        case .dead: nil
        case _ where rules.endsFresh(entry, by: route): nil
        case .fresh: .stale(isYoung: true)
        case .stale(let isYoung): .stale(isYoung: isYoung)
        }
    }

    private func stale(_ entry: CacheEntry, at now: Instant) -> Response {
        let isNXDomain = entry.answer.responseCode == .nameError
        // Within its TTL it is only of another network.
        let isOfTime = entry.age(at: now) < entry.lifetime
        let text = origin(of: entry, at: now) + (isOfTime ? ", before the network changed" : "")
        return Response(
            .stale(entry.answer), extendedError: ExtendedError(isNXDomain ? .staleNXDomainAnswer : .staleAnswer, text))
    }

    /// Decides whether a fresh answer near its end is prefetched now: once, and only if a client has had it before.
    func claimRefresh(_ key: FlightKey, _ type: RecordType) -> Bool {
        memory.claimRefresh(of: key.cacheKey(type)) && freshness.prefetches
    }

    /// Whether the addresses of a source's answer rotate: an RRset has no order (RFC 2181 section 5), unless an address in
    /// it was reported bad, which is its last.
    private func mayRotate(_ answer: borrowing PackedAnswer) -> Bool {
        answer.counts.answer > 1 && rotatesAddresses && answer.isRotatable && !badAddresses.isReported(in: answer)
    }

    /// The server and age of a stale answer, for the text of an extended error.
    ///
    /// A client learns no address of LocalDNS: it is of the operator's network.
    private func origin(of entry: CacheEntry, at now: Instant) -> String {
        let server = rules.isOfLocalDNS(entry.source) ? "LocalDNS" : serverNames.name(of: entry.server)
        return server.isEmpty ? "\(entry.age(at: now)) s old" : "answered by \(server) \(entry.age(at: now)) s ago"
    }

    /// Removes the unverified answer of LocalDNS, if that is still the cached one.
    public func forgetUnverified(_ key: FlightKey, _ type: RecordType) {
        if memory.entry(for: key.cacheKey(type))?.source == rules.tag(of: .localDNS) { forget(key, type) }
    }

    /// Removes LocalDNS's answers of a name that hold an address which is another's, whichever question of its clients has
    /// shown that.
    func forgetForged(_ address: IPAddress, _ key: FlightKey, _ type: RecordType) {
        let question = Question(name: key.name, type: type)
        for (dnssecOK, checkingDisabled) in [(false, false), (true, false), (false, true), (true, true)] {
            let cacheKey = QueryKey(
                question, dnssecOK: dnssecOK, checkingDisabled: checkingDisabled, scope: key.scope)
            guard let entry = memory.entry(for: cacheKey), rules.isOfLocalDNS(entry.source),
                entry.answer.unpacked(for: question)?.addresses.contains(address) == true
            else { continue }
            memory.remove(cacheKey)
            archive(of: key)?.remove(cacheKey)
        }
    }

    /// Seconds for which a cached answer is fresh from now on; 0 when there is none.
    func secondsLeft(_ key: FlightKey, _ type: RecordType) -> UInt32 {
        guard let entry = memory.entry(for: key.cacheKey(type)), entry.generation == generation else { return 0 }
        return entry.lifetime - min(entry.age(at: clock.now), entry.lifetime)
    }

    func forget(_ key: FlightKey, _ type: RecordType) {
        let cacheKey = key.cacheKey(type)
        memory.remove(cacheKey)
        archive(of: key)?.remove(cacheKey)
    }

    /// Caches the answer of a source, unless a fresh one of a better rank is cached.
    ///
    /// - Parameters:
    ///   - longest: seconds that no TTL exceeds, whatever shorter ones are raised to.
    ///   - isTranslated: whether the addresses were made of others. Of use under this policy alone: no archive gets them.
    ///   - isStored: false packs it for a client alone.
    ///   - heard: since when its TTLs run.
    /// - Returns: nil when it is longer than a message can be.
    public func keep(
        _ answer: consuming Answer, for key: FlightKey, _ type: RecordType, _ source: Source, _ server: String,
        longest: UInt32 = .max, isTranslated: Bool = false, isStored: Bool = true, at heard: Instant? = nil
    ) -> PackedAnswer? {
        let question = Question(name: key.name, type: type)
        // After a user has logged in at the portal, the network gives another answer.
        let limit = key.route == .portal ? min(longest, Strategy.portalLife) : longest
        let ordered = badAddresses.withBadAddressesLast(answer)
        let normalized = freshness.normalized(ordered, for: question).limited(to: limit)
        guard var packed = PackedAnswer(normalized, for: question) else { return nil }
        packed.rotates = mayRotate(packed)
        guard isStored else { return packed }
        let lifetime = freshness.lifetime(of: normalized, for: type)
        let cacheKey = key.cacheKey(type)
        guard !isOutranked(source, cacheKey, by: key.route) else { return packed }
        key.trace.note(.keep, "\(type) is cached for \(lifetime) s")
        if lifetime == 0 {
            // Not to be cached, and the answer cached before is no longer valid.
            forget(key, type)
        } else {
            let entry = CacheEntry(
                answer: packed, storedAt: heard ?? clock.now, lifetime: lifetime, generation: generation,
                route: rules.routeTag(of: key.route, isTranslated: isTranslated), source: rules.tag(of: source),
                server: serverNames.number(of: server), isNegative: normalized.isNegative(for: type),
                refreshMargin: source == .rule ? 0 : freshness.refreshMargin(lifetime: lifetime))
            memory.store(entry, for: cacheKey)
            if isTranslated {
                archive(of: key)?.remove(cacheKey)
            } else {
                archive(of: key)?.store(entry, for: cacheKey)
            }
        }
        return packed
    }

    /// Caches an answer from the configuration for the UDP threads, until it expires or the generation ends; nil: it is
    /// longer than a message can be.
    public func keepLocal(_ answer: Answer, for client: ClientQuestion, _ source: Source) -> PackedAnswer? {
        let answer = badAddresses.withBadAddressesLast(answer)
        guard let packed = PackedAnswer(answer, for: client.question) else { return nil }
        let isNegative = answer.isNegative(for: client.question.type)
        let ttls = isNegative ? answer.authorities.map(\.ttl) : answer.answers.map(\.ttl)
        memory.store(
            CacheEntry(
                answer: packed, storedAt: clock.now, lifetime: ttls.min() ?? 0, generation: generation,
                route: AnswerRules.localRoute, source: rules.tag(of: source), isNegative: isNegative),
            for: QueryKey(
                client.question, dnssecOK: client.dnssecOK, checkingDisabled: client.checkingDisabled))
        return packed
    }

    /// Whether a fresh answer of a better rank is cached: another flight for the name may have stored it.
    private func isOutranked(_ source: Source, _ key: borrowing QueryKey, by route: Route) -> Bool {
        let tag = rules.tag(of: source)
        guard !SourceTags.isProvider(tag), let entry = memory.entry(for: key) else { return false }
        return rules.isUsable(entry, key.type, by: route) && !isStale(entry)
            && SourceTags.rank(entry.source, by: route) < SourceTags.rank(tag, by: route)
    }

    // MARK: Answers that only the archive has

    /// Whether only the archive may have an answer.
    func mustRecall(_ key: FlightKey, _ type: RecordType) -> Bool {
        archive?.mayRecall == true && key.scope == nil && memory.entry(for: key.cacheKey(type)) == nil
    }

    /// Loads an answer into memory that only the archive has. Returns whether memory has it now and had not.
    @discardableResult
    func recall(_ key: FlightKey, _ type: RecordType) async -> Bool {
        guard mustRecall(key, type) else { return false }
        await archive?.recall(key.cacheKey(type), clock: clock)
        return memory.entry(for: key.cacheKey(type)) != nil
    }

    /// The archive of an answer: none if it holds for one client network. Such answers are many and soon of no use, and
    /// the disk must not reveal which clients asked for what.
    private func archive(of key: FlightKey) -> (any AnswerArchive)? { key.scope == nil ? archive : nil }
}

extension RecordType {
    /// AAAA for A, and A for AAAA.
    var otherFamily: RecordType { self == .a ? .aaaa : .a }
}
