package import DNSCache
package import DNSWire
package import Scheduling

/// The resolver's view of the memory cache: which answers may still be used, and in which form answers are cached.
@Loop
package final class AnswerStore {
    /// Seconds for which "no address of this family" is cached when that family's question failed and the other one's
    /// did not.
    static let failedFamilyTTL: UInt32 = 5
    /// The most seconds for which an unverified answer of LocalDNS for a protected name is cached.
    static let unverifiedLifetime: UInt32 = 60
    /// The most seconds for which a provider's denial of a name is cached that LocalDNS may know and has not answered.
    static let provisionalLifetime: UInt32 = 10
    /// Seconds for which a verified answer of LocalDNS is used: as long as the verdict. Its own TTL is chosen by the
    /// server that answered.
    private static let verifiedLifetime: UInt32 = 600

    /// Slots of the cache that one step of a walk visits: under a millisecond.
    nonisolated static let slotsPerStep = 1_024

    let memory: MemoryCache
    private(set) var freshness: FreshnessPolicy
    private var generations: Generations
    /// The number in `generations`: read at each step, and never replaced.
    private let number: PolicyGeneration
    let clock: any LoopClock
    private let badAddresses: BadAddresses
    /// The numbers of the sources of the policy in force.
    private(set) var sources: SourceTags
    /// Whether IPv6 addresses are made of IPv4 addresses by the policy in force.
    private(set) var isTranslating: Bool
    package let serverNames = ServerNames()
    /// Whether the addresses of an answer rotate where its source gave them no order. Default true. Cached answers follow
    /// with the next generation.
    package var rotatesAddresses = true
    /// Where answers are stored beyond this process, if anywhere.
    package var archive: (any AnswerArchive)?

    /// - Parameter isTranslating: whether IPv6 addresses are made of IPv4 addresses.
    package nonisolated init(
        memory: MemoryCache, freshness: FreshnessPolicy, generation: PolicyGeneration, sources: SourceTags,
        isTranslating: Bool = false, badAddresses: BadAddresses, clock: any LoopClock
    ) {
        self.isTranslating = isTranslating
        self.memory = memory
        self.freshness = freshness
        generations = Generations(generation)
        number = generation
        self.sources = sources
        self.badAddresses = badAddresses
        self.clock = clock
    }

    /// How long a client waits for a newer answer than a stale one that is not old.
    var staleWait: Duration { freshness.staleWait }

    /// The generation of policy and network; a flight that began in an older one stores nothing.
    package var generation: UInt32 { number.current }

    /// Changes to the sources of another policy.
    ///
    /// - Parameters:
    ///   - freshness: how long answers are cached from now on.
    ///   - isTranslating: whether IPv6 addresses are made of IPv4 addresses from now on.
    package func adopt(_ sources: SourceTags, _ freshness: FreshnessPolicy, isTranslating: Bool) {
        self.isTranslating = isTranslating
        self.sources = sources
        self.freshness = freshness
    }

    /// Makes the answers stored so far a miss for the UDP threads, so that they are decided again here.
    package func beginGeneration() { generations.beginPolicy() }

    /// Makes the answers stored so far stale: still served when nothing better comes in time.
    package func beginNetwork() { generations.beginNetwork() }

    /// Whether an entry is past its TTL, or from another network.
    package func isStale(_ entry: CacheEntry) -> Bool {
        entry.age(at: clock.now) >= entry.lifetime || !generations.isOfNetwork(entry.generation)
    }

    /// An answer that is fresh, or stale and used when nothing better comes. An object: mostly there is none, and
    /// waiting clients refer to it.
    package final class Cached: Sendable {
        /// Nil when it is fresh; else how long a client waits for a better one.
        package let wait: Duration?
        /// Whether a provider gave it, or certificates verify it.
        package let isTrusted: Bool
        /// Whether a source gave it: it was not made here.
        package let isFromSource: Bool
        /// Whether its TTL is near its end, so that it is prefetched if clients ask for it.
        package let isEnding: Bool
        /// When it was stored, of LocalDNS's answer in place of a provider's, in whole seconds; nil of any other.
        let fallbackSince: Instant?
        /// Whether it is within its TTL, and stale only since it yields to a provider.
        let hasYielded: Bool
        package let response: Response

        fileprivate init(
            wait: Duration?, isTrusted: Bool, isFromSource: Bool, isEnding: Bool, fallbackSince: Instant?,
            hasYielded: Bool = false, response: Response
        ) {
            self.fallbackSince = fallbackSince
            self.hasYielded = hasYielded
            self.wait = wait
            self.isTrusted = isTrusted
            self.isFromSource = isFromSource
            self.isEnding = isEnding
            self.response = response
        }

        package var isFresh: Bool { wait == nil }
    }

    /// The cached answer for `key`, if it was obtained by this route.
    ///
    /// - Parameter hasYielded: whether a fallback answer yields to a provider: a verified one is stale, and any other is
    ///   not given.
    package func cached(_ key: QueryKey, route: Route, at now: Instant, hasYielded: Bool = false) -> Cached? {
        guard var entry = memory.entry(for: key), isUsable(entry, key.type, by: route) else { return nil }
        guard !hasYielded || entry.source == tag(of: .verifiedLocalDNS) else { return nil }
        let fallbackSince = isFallback(entry, by: route) ? entry.storedAt : nil
        switch entry.freshness(at: now, freshness) {
        case .fresh where hasYielded:
            return stale(
                entry, wait: freshness.staleWait, fallbackSince,
                "\(origin(of: entry, at: now)), while no provider answered", hasYielded: true)
        case .fresh where generations.isOfNetwork(entry.generation):
            // Decided again under the present policy, with the same result: the UDP threads may serve it again.
            if entry.generation != generation {
                entry.answer.rotates = mayRotate(entry.answer)
                memory.restamp(key, generation: generation, rotates: entry.answer.rotates)
            }
            return Cached(
                wait: nil, isTrusted: SourceTags.isTrusted(entry.source), isFromSource: isFromSource(entry),
                isEnding: !entry.isHit(at: now) && !entry.isNeverHit,
                fallbackSince: fallbackSince,
                response: Response(.answer(entry.answer, age: entry.age(at: now)), from: .cache))
        case .fresh where endsFresh(entry, by: route), .stale where endsFresh(entry, by: route):
            return nil
        case .fresh:
            return stale(
                entry, wait: freshness.staleWait, fallbackSince,
                "\(origin(of: entry, at: now)), before the network changed")
        case .stale(let wait):
            // An answer that was made here is not served stale.
            return isFromSource(entry) ? stale(entry, wait: wait, fallbackSince, origin(of: entry, at: now)) : nil
        case .dead:
            return nil
        }
    }

    /// Whether it is LocalDNS's answer for a protected name in place of a provider's, and not beside one that denied the name
    /// or called it empty.
    private func isFallback(_ entry: CacheEntry, by route: Route) -> Bool {
        if case .protect = route { entry.isNeverHit && isOfLocalDNS(entry) } else { false }
    }

    private func isOfLocalDNS(_ entry: CacheEntry) -> Bool {
        entry.source == tag(of: .localDNS) || entry.source == tag(of: .verifiedLocalDNS)
    }

    /// Whether it is not served stale: an answer for a portal check, and a denial by LocalDNS for a protected name,
    /// which nothing verifies.
    private func endsFresh(_ entry: CacheEntry, by route: Route) -> Bool {
        switch route {
        case .portal: true
        case .protect: entry.isNegative && entry.source == tag(of: .localDNS)
        case .bypass, .forward: false
        }
    }

    /// The cached answer for a client, whose question would be asked by the flight `flight`.
    func cached(for client: ClientQuestion, _ flight: FlightKey, hasYielded: Bool = false) -> Cached? {
        // Mostly there is no scope: then the key, which is long, is not copied.
        guard let scope = flight.scope else {
            return cached(client.key, route: flight.route, at: clock.now, hasYielded: hasYielded)
        }
        return cached(client.key.scoped(to: scope), route: flight.route, at: clock.now, hasYielded: hasYielded)
    }

    private func stale(
        _ entry: CacheEntry, wait: Duration, _ fallbackSince: Instant?, _ text: String, hasYielded: Bool = false
    ) -> Cached {
        let isNXDomain = entry.answer.responseCode == .nameError
        let error = ExtendedError(isNXDomain ? .staleNXDomainAnswer : .staleAnswer, text)
        return Cached(
            wait: wait, isTrusted: SourceTags.isTrusted(entry.source), isFromSource: isFromSource(entry),
            isEnding: false, fallbackSince: fallbackSince, hasYielded: hasYielded,
            response: Response(.stale(entry.answer), extendedError: error, from: .cache))
    }

    /// Decides whether a fresh answer near its end is prefetched now: once, and only if a client has had it before.
    func claimRefresh(_ key: QueryKey) -> Bool { memory.claimRefresh(of: key) && freshness.prefetches }

    /// Whether a source gave it: it comes neither from a local rule nor from the configuration.
    func isFromSource(_ entry: CacheEntry) -> Bool {
        entry.source != tag(of: .rule) && entry.source != tag(of: .preset)
    }

    func tag(of source: Source) -> UInt16 { sources.tag(of: source) }

    /// The answer with reported bad addresses moved to its end.
    func withBadAddressesLast(_ answer: consuming Answer) -> Answer { badAddresses.withBadAddressesLast(answer) }

    /// Whether the addresses of a source's answer rotate: an RRset has no order (RFC 2181 section 5), unless an address in
    /// it was reported bad, which is its last.
    private func mayRotate(_ answer: borrowing PackedAnswer) -> Bool {
        answer.counts.answer > 1 && rotatesAddresses && answer.isRotatable && !badAddresses.isReported(in: answer)
    }

    /// The server and age of a stale answer, for the text of an extended error.
    ///
    /// A client learns no address of LocalDNS: it is of the operator's network.
    private func origin(of entry: CacheEntry, at now: Instant) -> String {
        let server = isOfLocalDNS(entry) ? "LocalDNS" : serverNames.name(of: entry.server)
        return server.isEmpty ? "\(entry.age(at: now)) s old" : "answered by \(server) \(entry.age(at: now)) s ago"
    }

    /// The origin of the cached answer for `key`; nil when there is none.
    func provenance(
        of key: QueryKey, _ type: RecordType, route: Route, sourceName: (Source) -> String
    ) -> Provenance? {
        guard let entry = memory.entry(for: key) else { return nil }
        let age = entry.age(at: clock.now)
        let state = state(of: entry, type, by: route)
        let source = sources.source(of: entry.source)
        return Provenance(
            type: type, route: route,
            source: source.map { sourceName($0) + ($0 == .verifiedLocalDNS ? "(verified)" : "") } ?? "",
            server: serverNames.name(of: entry.server), state: state,
            check: source.flatMap { check(of: $0, type, entry, by: route) }, isTranslated: isTranslated(entry),
            age: age,
            remaining: state == .fresh ? entry.lifetime - min(age, entry.lifetime) : 0)
    }

    /// How an entry may be used now, for a question with this `route`.
    func state(of entry: CacheEntry, _ type: RecordType, by route: Route) -> Provenance.State {
        guard isUsable(entry, type, by: route) || isLocal(entry) else { return .unusable }
        switch entry.freshness(at: clock.now, freshness) {
        case .fresh where generations.isOfNetwork(entry.generation): return .fresh
        case .fresh where endsFresh(entry, by: route), .stale where endsFresh(entry, by: route):
            return .unusable
        case .fresh: return .stale
        case .stale: return isFromSource(entry) ? .stale : .unusable
        case .dead: return .unusable
        }
    }

    private func check(of source: Source, _ type: RecordType, _ entry: CacheEntry, by route: Route) -> Provenance.Check?
    {
        guard case .protect = route, type.isAddress, !entry.isNegative else { return nil }
        return switch source {
        case .verifiedLocalDNS: .verified
        case .localDNS: .unverified
        case .provider, .forward, .rule, .preset: nil
        }
    }

    /// Whether an entry of this or an older policy may be used for a question that takes `route` now.
    ///
    /// LocalDNS's answer for a protected name was right only under the mode of its time, and so was a local rule.
    func isUsable(_ entry: CacheEntry, _ type: RecordType, by route: Route) -> Bool {
        guard entry.route == route.tag || isTranslated(entry), let source = sources.source(of: entry.source) else {
            return false
        }
        switch (source, route) {
        case (.provider, _) where dependsOnPolicy(entry, type): return generations.isOfPolicy(entry.generation)
        case (.provider, _), (.localDNS, .bypass), (.localDNS, .portal): return true
        case (.forward, _): return sources.tag(of: source) == forwardTag(of: route)
        case (.localDNS, _), (.verifiedLocalDNS, _), (.rule, _), (.preset, _):
            return generations.isOfPolicy(entry.generation)
        }
    }

    /// The number of the servers of a `forward` route.
    private func forwardTag(of route: Route) -> UInt16? {
        if case .forward(let index) = route { sources.tag(of: .forward(index: index)) } else { nil }
    }

    /// Caches an unverified answer of LocalDNS for a protected name as fallback: for a minute at most, and not while
    /// there is a stale trusted answer, which takes precedence (decision 6).
    ///
    /// - Parameter replacesTrusted: whether the providers have just contradicted any such answer. Default false.
    package func keepUnverified(
        _ answer: Answer, for key: FlightKey, _ type: RecordType, _ server: String, isFallback: Bool,
        replacesTrusted: Bool = false
    ) -> Flight.Outcome {
        if !replacesTrusted, let cached = answerOfSource(key, type), cached.isTrusted {
            return .failure(
                ExtendedError(.noReachableAuthority, "only LocalDNS answers, and an older answer is trusted more"))
        }
        return keep(answer, for: key, type, .localDNS, server, longest: Self.unverifiedLifetime, isFallback: isFallback)
    }

    /// Caches an answer of LocalDNS for a protected name while its certificates are still to be checked: for a minute
    /// at most.
    package func keepUnchecked(
        _ answer: Answer, for key: FlightKey, _ type: RecordType, _ server: String
    ) -> Flight.Outcome {
        keep(answer, for: key, type, .localDNS, server, longest: Self.unverifiedLifetime)
    }

    /// Caches a verified answer instead of LocalDNS's unverified one, if that is still the cached one.
    func keepVerified(_ answer: Answer, for key: FlightKey, _ type: RecordType, _ server: String) {
        guard holdsUnverified(queryKey(key, type)) else { return }
        _ = keep(answer, for: key, type, .verifiedLocalDNS, server)
    }

    private func holdsUnverified(_ key: borrowing QueryKey) -> Bool {
        memory.entry(for: key)?.source == sources.tag(of: .localDNS)
    }

    /// Removes the unverified answer of LocalDNS, if that is still the cached one.
    package func forgetUnverified(_ key: FlightKey, _ type: RecordType) {
        let cacheKey = queryKey(key, type)
        guard holdsUnverified(cacheKey) else { return }
        memory.remove(cacheKey)
        archive(of: key)?.remove(cacheKey)
    }

    /// Caches NODATA for a name for which every source sent an indeterminate empty response.
    ///
    /// Nothing is cached, and the outcome is a failure, while there is an older answer: only an explicit NXDOMAIN or
    /// NODATA response ends its use.
    ///
    /// - Parameter replacesStale: whether there was one, of LocalDNS, which a provider's empty response confirms. Default
    ///   false.
    package func keepEmpty(
        ttl: UInt32?, for key: FlightKey, _ type: RecordType, replacesStale: Bool = false
    ) -> Flight.Outcome {
        guard replacesStale || answerOfSource(key, type) == nil else {
            return .failure(ExtendedError(.other, "the sources say nothing of this name any more"))
        }
        let ttl = min(ttl ?? freshness.negativeTTL, freshness.negativeTTL)
        return keep(.negative(name: key.name, ttl: ttl), for: key, type, .rule, "")
    }

    /// Caches NODATA for a short time for a family whose question failed, if the name has addresses of the other
    /// family.
    ///
    /// musl fails a whole look-up when one family is SERVFAIL. An older answer of the failed family takes precedence, unless
    /// no client gets it.
    /// - Parameters:
    ///   - other: the number of the source of the other family's addresses; nil: there are none.
    ///   - made: cached in place of NODATA.
    ///   - hasYielded: whether a fallback answer stored at that time yields to a provider.
    /// - Returns: nil when the rule does not apply.
    package func keepFailedFamily(
        _ key: FlightKey, _ type: RecordType, besides other: UInt16?, made: Answer? = nil,
        hasYielded: (Instant) -> Bool
    ) -> Flight.Outcome? {
        guard type.isAddress, other != nil else { return nil }
        if let older = answerOfSource(key, type) {
            guard !older.isTrusted, let since = older.fallbackSince, hasYielded(since) else { return nil }
        }
        return keep(made ?? .negative(name: key.name, ttl: Self.failedFamilyTTL), for: key, type, .rule, "")
    }

    /// Whether there is an answer of a source, fresh or stale.
    func hasAnswer(_ key: FlightKey, _ type: RecordType) -> Bool { answerOfSource(key, type) != nil }

    /// The answer of a source, fresh or stale.
    private func answerOfSource(_ key: FlightKey, _ type: RecordType) -> Cached? {
        guard let cached = cached(queryKey(key, type), route: key.route, at: clock.now), cached.isFromSource else {
            return nil
        }
        return cached
    }

    /// When the answer of a source that is cached is of no more use, fresh or stale; nil: there is none.
    func endOfUse(_ key: FlightKey, _ type: RecordType) -> Instant? {
        guard hasAnswer(key, type), let entry = memory.entry(for: queryKey(key, type)) else { return nil }
        let (now, lifetime) = (clock.now, Int64(entry.lifetime))
        let window = Int64(freshness.staleWindow(lifetime: entry.lifetime))
        let seconds = lifetime + (window > 0 ? window + 1 : 0) - Int64(entry.age(at: now))
        // Ages are counted in whole seconds of the clock.
        return now + .seconds(seconds) - .nanoseconds(now.nanoseconds % 1_000_000_000)
    }

    /// The number of the source whose addresses of the family other than `type` are cached, by the same route and within
    /// their TTL; nil when there are none.
    package func otherFamily(_ key: FlightKey, _ type: RecordType) -> UInt16? {
        guard let entry = memory.entry(for: queryKey(key, type.otherFamily)),
            isUsable(entry, type.otherFamily, by: key.route), !isTranslated(entry),
            !entry.isNegative, case .fresh = entry.freshness(at: clock.now, freshness)
        else { return nil }
        return entry.source
    }

    /// Caches the answer of a source.
    ///
    /// - Parameters:
    ///   - longest: seconds that no TTL exceeds, whatever shorter ones are raised to.
    ///   - isTranslated: whether the addresses were made of others. Of use under this policy alone: no archive gets them.
    ///   - isFallback: whether LocalDNS gave it in place of a provider: the loop decides at each question whether it
    ///     yields, so that no UDP thread may serve it.
    ///   - isGiven: whether clients may get it; if not, it is not stored.
    package func keep(
        _ answer: consuming Answer, for key: FlightKey, _ type: RecordType, _ source: Source, _ server: String,
        longest: UInt32 = .max, isTranslated: Bool = false, isFallback: Bool = false, isGiven: Bool = true
    ) -> Flight.Outcome {
        let question = Question(name: key.name, type: type)
        let limit =
            isFallback ? min(longest, Self.verifiedLifetime) : min(longest, longestLifetime(of: source, by: key.route))
        let normalized = freshness.normalized(withBadAddressesLast(answer), for: question).limited(to: limit)
        guard var packed = PackedAnswer(normalized, for: question) else {
            return .failure(ExtendedError(.other, "the answer is longer than a message can be"))
        }
        packed.rotates = mayRotate(packed)
        // Clients that asked before the policy was replaced get the answer; it is not cached for others.
        guard key.generation == generation, isGiven else { return .answer(packed) }
        let lifetime = freshness.lifetime(of: normalized, for: type)
        let cacheKey = QueryKey(
            question, dnssecOK: key.dnssecOK, checkingDisabled: key.checkingDisabled, scope: key.scope)
        if isFallback, hasFreshOfProvider(cacheKey, by: key.route) { return .answer(packed) }
        key.note(.keep, "\(type) is cached for \(lifetime) s")
        if lifetime == 0 {
            // Not to be cached, and the answer cached before is no longer valid.
            memory.remove(cacheKey)
            archive(of: key)?.remove(cacheKey)
        } else {
            let entry = CacheEntry(
                answer: packed, storedAt: clock.now, lifetime: lifetime, generation: generation,
                route: routeTag(of: key.route, isTranslated: isTranslated), source: sources.tag(of: source),
                server: serverNames.number(of: server), isNegative: normalized.isNegative(for: type),
                refreshMargin: refreshMargin(of: source, lifetime, isFallback: isFallback))
            memory.store(entry, for: cacheKey)
            if isTranslated {
                archive(of: key)?.remove(cacheKey)
            } else {
                archive(of: key)?.store(entry, for: cacheKey)
            }
        }
        return .answer(packed)
    }

    /// Whether a provider's answer is cached that nothing but a provider replaces.
    private func hasFreshOfProvider(_ key: borrowing QueryKey, by route: Route) -> Bool {
        guard let entry = memory.entry(for: key), SourceTags.isProvider(entry.source),
            isUsable(entry, key.type, by: route), generations.isOfNetwork(entry.generation)
        else { return false }
        return entry.age(at: clock.now) < entry.lifetime
    }

    private func refreshMargin(of source: Source, _ lifetime: UInt32, isFallback: Bool) -> UInt32 {
        if isFallback { return lifetime }
        return source == .rule ? 0 : freshness.refreshMargin(lifetime: lifetime)
    }

    /// The most seconds of a TTL from a source.
    private func longestLifetime(of source: Source, by route: Route) -> UInt32 {
        if route == .portal { return PortalChecks.lifetime }
        return source == .verifiedLocalDNS ? Self.verifiedLifetime : .max
    }

    private func queryKey(_ key: FlightKey, _ type: RecordType) -> QueryKey {
        QueryKey(
            Question(name: key.name, type: type), dnssecOK: key.dnssecOK, checkingDisabled: key.checkingDisabled,
            scope: key.scope)
    }

    /// The archive of an answer: none if it holds for one client network. Such answers are many and soon of no use, and
    /// the disk must not reveal which clients asked for what.
    private func archive(of key: FlightKey) -> (any AnswerArchive)? { key.scope == nil ? archive : nil }
}

extension Answer {
    /// The same answer with no TTL above `seconds`.
    fileprivate consuming func limited(to seconds: UInt32) -> Answer {
        guard seconds < .max else { return self }
        for index in answers.indices { answers[index].ttl = min(answers[index].ttl, seconds) }
        for index in authorities.indices { authorities[index].ttl = min(authorities[index].ttl, seconds) }
        return self
    }
}

extension RecordType {
    /// AAAA for A, and A for AAAA.
    var otherFamily: RecordType { self == .a ? .aaaa : .a }
}
