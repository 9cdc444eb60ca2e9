package import DNSCache
package import DNSWire
package import Scheduling

/// The resolver's view of the memory cache: which answers may still be used, and in which form answers are cached.
@Loop
package final class AnswerStore {
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
    /// The family that is suppressed where a name has addresses of the other one, since the policy was last replaced.
    private(set) var suppressed: RecordType?
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

    /// Changes to another policy.
    ///
    /// - Parameter freshness: how long answers are cached from now on.
    package func adopt(_ policy: ResolverPolicy, _ freshness: FreshnessPolicy) {
        isTranslating = policy.isTranslating
        suppressed = policy.localAnswers.families.yielding
        sources = policy.sources
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
        package enum Age: Hashable, Sendable {
            /// - Parameter isEnding: whether its TTL is near its end, so that it is prefetched if clients ask for it.
            case fresh(isEnding: Bool)
            /// - Parameter isYoung: whether it expired no longer ago than its TTL.
            case stale(isYoung: Bool)
        }

        package let age: Age
        /// The number of its source.
        let source: UInt16
        package let response: Response

        fileprivate init(_ age: Age, source: UInt16, _ response: Response) {
            self.age = age
            self.source = source
            self.response = response
        }

        package var isFresh: Bool { if case .fresh = age { true } else { false } }

        /// Whether a source gave it: it was not made here.
        package var isFromSource: Bool { source != SourceTags.rule && source != SourceTags.preset }
    }

    /// The cached answer for `key`, if it was obtained by this route.
    ///
    package func cached(_ key: QueryKey, route: Route, at now: Instant) -> Cached? {
        guard var entry = memory.entry(for: key), isUsable(entry, key.type, by: route) else { return nil }
        switch entry.freshness(at: now, freshness) {
        case .fresh where generations.isOfNetwork(entry.generation):
            // Decided again under the present policy, with the same result: the UDP threads may serve it again.
            if entry.generation != generation {
                entry.answer.rotates = mayRotate(entry.answer)
                memory.restamp(key, generation: generation, rotates: entry.answer.rotates)
            }
            return Cached(
                .fresh(isEnding: !entry.isHit(at: now)), source: entry.source,
                Response(.answer(entry.answer, age: entry.age(at: now)), from: .cache))
        case .fresh where endsFresh(entry, by: route), .stale where endsFresh(entry, by: route):
            return nil
        case .fresh:
            return stale(entry, isYoung: true, "\(origin(of: entry, at: now)), before the network changed")
        case .stale(let isYoung): return stale(entry, isYoung: isYoung, origin(of: entry, at: now))
        case .dead:
            return nil
        }
    }

    /// The same for a type of a flight.
    func cached(_ key: FlightKey, _ type: RecordType) -> Cached? {
        cached(key.cacheKey(type), route: key.route, at: clock.now)
    }

    private func isOfLocalDNS(_ entry: CacheEntry) -> Bool { isOfLocalDNS(entry.source) }

    private func isOfLocalDNS(_ source: UInt16) -> Bool {
        source == tag(of: .localDNS) || source == tag(of: .verifiedLocalDNS)
    }

    func isOfLocalDNS(_ cached: Cached) -> Bool { isOfLocalDNS(cached.source) }

    /// Whether it is not served stale: what was made here, an answer for a portal check, and LocalDNS's for a protected name,
    /// which nothing verifies.
    private func endsFresh(_ entry: CacheEntry, by route: Route) -> Bool {
        guard isFromSource(entry) else { return true }
        return switch route {
        case .portal: true
        case .protect: entry.source == tag(of: .localDNS)
        case .bypass, .forward: false
        }
    }

    /// The cached answer for a client, whose question would be asked by the flight `flight`.
    func cached(for client: ClientQuestion, _ flight: FlightKey) -> Cached? {
        // Mostly there is no scope: then the key, which is long, is not copied.
        guard let scope = flight.scope else { return cached(client.key, route: flight.route, at: clock.now) }
        return cached(client.key.scoped(to: scope), route: flight.route, at: clock.now)
    }

    private func stale(_ entry: CacheEntry, isYoung: Bool, _ text: String) -> Cached {
        let isNXDomain = entry.answer.responseCode == .nameError
        let error = ExtendedError(isNXDomain ? .staleNXDomainAnswer : .staleAnswer, text)
        return Cached(
            .stale(isYoung: isYoung), source: entry.source,
            Response(.stale(entry.answer), extendedError: error, from: .cache))
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
        of key: QueryKey, _ type: RecordType, route: Route, sourceName: (UInt16, Route) -> SourceName
    ) -> Provenance? {
        guard let entry = memory.entry(for: key) else { return nil }
        let age = entry.age(at: clock.now)
        let state = state(of: entry, type, by: route)
        return Provenance(
            type: type, route: route, source: sourceName(entry.source, obtained(entry, by: route)),
            server: serverNames.name(of: entry.server), state: state, isTranslated: isTranslated(entry), age: age,
            remaining: state == .fresh ? entry.lifetime - min(age, entry.lifetime) : 0)
    }

    /// How an entry may be used now, for a question with this `route`.
    func state(of entry: CacheEntry, _ type: RecordType, by route: Route) -> Provenance.State {
        guard isUsable(entry, type, by: route) || isLocal(entry) else { return .unusable }
        switch entry.freshness(at: clock.now, freshness) {
        case .fresh where generations.isOfNetwork(entry.generation): return .fresh
        case .fresh where endsFresh(entry, by: route), .stale where endsFresh(entry, by: route):
            return .unusable
        case .fresh, .stale: return .stale
        case .dead: return .unusable
        }
    }

    /// The route by which an entry was obtained: that of its question now, where what was made of others has none.
    func obtained(_ entry: CacheEntry, by route: Route) -> Route {
        isTranslated(entry) ? route : Route(tag: entry.route)
    }

    /// Whether an entry of this or an older policy may be used for a question that takes `route` now.
    ///
    /// LocalDNS's answer for a protected name was right only under the mode of its time, and so was a local rule.
    func isUsable(_ entry: CacheEntry, _ type: RecordType, by route: Route) -> Bool {
        guard entry.route == route.tag || isTranslated(entry), let source = sources.source(of: entry.source) else {
            return false
        }
        switch (source, route) {
        case (.provider, _), (.shared, _):
            return !dependsOnPolicy(entry, type) || generations.isOfPolicy(entry.generation)
        case (.localDNS, .bypass), (.localDNS, .portal): return true
        case (.forward, _): return sources.tag(of: source) == forwardTag(of: route)
        case (.localDNS, _), (.verifiedLocalDNS, _), (.rule, _), (.preset, _):
            return generations.isOfPolicy(entry.generation)
        }
    }

    /// The number of the servers of a `forward` route.
    private func forwardTag(of route: Route) -> UInt16? {
        if case .forward(let index) = route { sources.tag(of: .forward(index: index)) } else { nil }
    }

    /// Removes the unverified answer of LocalDNS, if that is still the cached one.
    package func forgetUnverified(_ key: FlightKey, _ type: RecordType) {
        if memory.entry(for: key.cacheKey(type))?.source == sources.tag(of: .localDNS) { forget(key, type) }
    }

    /// Removes LocalDNS's answers of a name that hold an address which is another's, whichever question of its clients has
    /// shown that.
    func forgetForged(_ address: IPAddress, _ key: FlightKey, _ type: RecordType) {
        let question = Question(name: key.name, type: type)
        for (dnssecOK, checkingDisabled) in [(false, false), (true, false), (false, true), (true, true)] {
            let cacheKey = QueryKey(
                question, dnssecOK: dnssecOK, checkingDisabled: checkingDisabled, scope: key.scope)
            guard let entry = memory.entry(for: cacheKey), isOfLocalDNS(entry),
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

    /// Removes the answer to a type of a flight.
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
    /// - Returns: nil when it is longer than a message can be.
    package func keep(
        _ answer: consuming Answer, for key: FlightKey, _ type: RecordType, _ source: Source, _ server: String,
        longest: UInt32 = .max, isTranslated: Bool = false, isStored: Bool = true
    ) -> PackedAnswer? {
        let question = Question(name: key.name, type: type)
        let limit = key.route == .portal ? min(longest, PortalChecks.lifetime) : longest
        let normalized = freshness.normalized(withBadAddressesLast(answer), for: question).limited(to: limit)
        guard var packed = PackedAnswer(normalized, for: question) else { return nil }
        packed.rotates = mayRotate(packed)
        // Clients that asked before the policy was replaced get the answer; it is not cached for others.
        guard key.generation == generation, isStored else { return packed }
        let lifetime = freshness.lifetime(of: normalized, for: type)
        let cacheKey = key.cacheKey(type)
        guard !isOutranked(source, cacheKey, by: key.route) else { return packed }
        key.note(.keep, "\(type) is cached for \(lifetime) s")
        if lifetime == 0 {
            // Not to be cached, and the answer cached before is no longer valid.
            forget(key, type)
        } else {
            let entry = CacheEntry(
                answer: packed, storedAt: clock.now, lifetime: lifetime, generation: generation,
                route: routeTag(of: key.route, isTranslated: isTranslated), source: sources.tag(of: source),
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

    /// Whether a fresh answer of a better rank is cached: another flight for the name may have stored it. What is made here
    /// replaces none of a source.
    private func isOutranked(_ source: Source, _ key: borrowing QueryKey, by route: Route) -> Bool {
        let tag = sources.tag(of: source)
        guard !SourceTags.isProvider(tag), let entry = memory.entry(for: key), isUsable(entry, key.type, by: route),
            !isStale(entry)
        else { return false }
        if tag == SourceTags.rule { return isFromSource(entry) }
        guard case .protect = route, SourceTags.isTrusted(entry.source) else { return false }
        return SourceTags.isProvider(entry.source) || !SourceTags.isTrusted(tag)
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
