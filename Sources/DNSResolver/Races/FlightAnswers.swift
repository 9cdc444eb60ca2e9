import DNSCache
import DNSWire

/// What is known of the name of a flight: its line of sources, what they have said of each type, what is stored of that, and
/// what clients get. What a flight asks by knows this alone.
@Loop
final class FlightAnswers {
    /// Seconds for which a denial is cached that is made here.
    static let madeTTL: UInt32 = 5
    /// Seconds for which "no address of this family" is cached at most, where the other family is preferred.
    private static let longestSuppression: UInt32 = 300
    private static let lateness = Duration.milliseconds(100)

    let key: FlightKey
    let policy: ResolverPolicy
    let store: AnswerStore
    private let brake: MissBrake
    /// A and AAAA, or one type.
    let types: [RecordType]
    /// When the race ends at the latest.
    let ends: Instant
    /// Whether the first client had waited before: what it has no time for is no failure of a source.
    let isLate: Bool
    var line: SourceLine
    /// What is known of each type.
    private let a: FlightLane
    /// Where one type alone is asked for, the same.
    private let aaaa: FlightLane
    var race: Race

    /// - Parameter arrived: when the query was received of the client for which the flight begins.
    init(
        _ key: FlightKey, _ type: RecordType, by policy: ResolverPolicy, arrived: Instant, isRefresh: Bool,
        store: AnswerStore, brake: MissBrake
    ) {
        self.key = key
        self.policy = policy
        self.store = store
        self.brake = brake
        types = policy.types(for: type, key)
        let hasFamilies = types.count > 1
        var rules: RaceRules
        (line, rules) = policy.lines.line(for: key, isInSearchDomain: policy.routes.isInSearchDomain(key.name))
        a = FlightLane(types[0], key, policy, store)
        aaaa = hasFamilies ? FlightLane(types[1], key, policy, store) : a
        rules.a = a.known(isRefresh: isRefresh, key.route)
        if hasFamilies { rules.aaaa = aaaa.known(isRefresh: isRefresh, key.route) }
        rules.hasFamilies = hasFamilies
        rules.isSigned = key.isSigned
        if case .prefix = policy.translation { rules.translates = hasFamilies && policy.translates(.aaaa, key) }
        rules.yielding = hasFamilies ? policy.yielding(key) : nil
        rules.staleWait = store.staleWait.nanoseconds
        ends = arrived + Budget.answer
        isLate = store.clock.now - arrived > Self.lateness
        race = Race(rules, ends: ends)
    }

    var clock: any LoopClock { store.clock }

    /// When the query arrived that began it.
    var began: Instant { ends - Budget.answer }

    /// Since when the TTLs run of what is given now: what is read after the race's end lay in its socket meanwhile, while the
    /// process, or the machine, was stopped.
    private var heard: Instant { min(clock.now, ends) }

    subscript(part: RacePart) -> FlightLane { part == .a ? a : aaaa }

    func type(of part: RacePart) -> RecordType { self[part].type }

    func types(of parts: RaceParts) -> [RecordType] {
        types.count == 1 || parts == .both ? types : [parts == .a ? types[0] : types[1]]
    }

    func part(of type: RecordType) -> RacePart? {
        types[0] == type ? .a : types.count > 1 && types[1] == type ? .aaaa : nil
    }

    // MARK: What sources say

    /// What clients may have of a provider's answer.
    func admitted(_ answer: Answer, _ part: RacePart) -> Answer {
        let type = type(of: part)
        if race.rules.isGuarded, !answer.isNegative(for: type) {
            // 5.4
            return answer.withoutHints(type, keepsSigned: key.dnssecOK) ?? .negative(name: key.name, ttl: Self.madeTTL)
        }
        guard type == .aaaa, policy.translates(.aaaa, key), !answer.hasSignatures else { return answer }
        // Those of ::ffff:0:0/96 stand for IPv4 addresses and lead nowhere (RFC 6147 section 5.1.4).
        return answer.keeping { $0.mapped == nil }
    }

    /// Takes the verdict on one of LocalDNS's addresses: another's is thrown away, wherever it is cached. Returns whether
    /// what the cache had past its TTL holds it, and is not to be used.
    func note(_ verdict: AddressVerdict, on address: IPAddress, _ part: RacePart) -> Bool {
        let type = type(of: part)
        // A check that was not made is not remembered, nor what rests on it.
        if verdict == .unchecked {
            self[part].hasUnchecked = true
            if self[part].isGivenUnverified { store.forgetUnverified(key, type) }
        }
        guard verdict == .forged, !race.rules.isClockWrong else { return false }
        store.forgetForged(address, key, type)
        return self[part].stale.map { store.isOfLocalDNS($0) && $0.holds(address, type, key.name) } ?? false
    }

    // MARK: What is stored, and what clients get

    /// Stores an answer, or remembers that there is none.
    func keep(_ answer: RaceAnswer, _ part: RacePart) {
        let type = type(of: part)
        let outcome = outcome(answer, part, isStored: true)
        self[part].given = FlightLane.Given(answer: answer, outcome: outcome)
        switch outcome {
        case .given(let response):
            store.failures.answered(key, type)
            // One call, for both families or for one.
            if brake.limits != nil, type == types[0], key.isBraked, response.denies(type) {
                brake.denied(key.name, to: key.holder, at: clock.now)
            }
        case .missing(_, let error):
            guard !isLate, self[part].providerFailure?.isOurs != true, self[part].localFailure?.isOurs != true
            else {
                break
            }
            store.failures.failed(
                key, type, error: error, at: clock.now, asked: began, hasStale: answer.rank == .stale)
        }
    }

    /// What clients get of an answer.
    func outcome(_ answer: RaceAnswer, _ part: RacePart, isStored: Bool = false) -> FlightClients.Outcome {
        let type = type(of: part)
        // 8: what a door has refused says nothing against the providers.
        if answer.rank == .unproved, self[part].providerFailure?.isOurs == true { return missing(part) }
        switch answer.origin {
        case .source(let place):
            guard let found = self[part].answer(at: place) else { return missing(part) }
            return give(found, part, life: answer.life, isStored)
        case .localDNS(let addresses):
            guard var found = self[part].local else { return missing(part) }
            let known = self[part].localAddresses
            if answer.kind == .records, type.isAddress {
                found.answer = found.answer.keeping { address in
                    known.firstIndex(of: address).map { addresses.contains(.at($0)) } ?? false
                }
            } else if answer.kind == .noData {
                found.answer.responseCode = .noError
            }
            if answer.rank == .verified { found.source = .verifiedLocalDNS }
            if answer.rank == .unproved, self[part].hasUnchecked { found.isStored = false }
            return give(found, part, life: answer.life, isStored)
        case .family:
            var made = Answer.negative(name: key.name, ttl: answer.life ?? Self.madeTTL)
            if answer.kind == .nxDomain { made.responseCode = .nameError }
            let outcome = give(FlightLane.Found(made), part, life: answer.life, isStored)
            // 5.2: a family that failed; else its own NXDOMAIN is the reason.
            guard answer.rank == .failure, case .given(var response) = outcome else { return outcome }
            response.extendedError = reason(part)
            return .given(response)
        case .translation: return translated(answer, part, isStored)
        case .suppressed:
            // No longer than the other family's addresses are fresh.
            let left = store.secondsLeft(key, type.otherFamily)
            let made = Answer.negative(name: key.name, ttl: min(max(left, 1), Self.longestSuppression))
            if isStored { store.forget(key, type) }
            return give(FlightLane.Found(made, isStored: left > 0), part, life: nil, isStored)
        case .nowhere where answer.kind == .noData:
            let made = Answer.negative(name: key.name, ttl: Self.madeTTL)
            return give(FlightLane.Found(made), part, life: nil, isStored)
        case .nowhere(isForged: true):
            let error = ExtendedError(
                .forgedAnswer, "the addresses of LocalDNS show certificates that are not the name's")
            return .missing(stale: nil, error)
        case .stale: return .missing(stale: self[part].stale, reason(part))
        case .preset, .nowhere, .cache: return missing(part)
        }
    }

    /// - Parameter life: seconds for which it lives at most; nil: its TTL.
    private func give(_ found: FlightLane.Found, _ part: RacePart, life: UInt32?, _ isStored: Bool)
        -> FlightClients.Outcome
    {
        let type = type(of: part)
        let tag = policy.sources.tag(of: found.source)
        if isStored {
            key.trace.note(
                .decide, "\(type): \(found.answer.traceText(type)), from \(policy.sourceName(tag, by: key.route).text)")
        }
        // A family that no client may use is asked for only when the other one is made of it.
        let isGiven = key.isSigned || !policy.localAnswers.families.excludes(type)
        let packed = store.keep(
            policy.consistent(found.answer, for: key), for: key, type, found.source, found.server,
            longest: min(life ?? .max, found.sharedFor ?? .max), isStored: isStored && found.isStored && isGiven,
            at: heard)
        guard let packed else {
            return .missing(stale: nil, ExtendedError(.other, "the answer is longer than a message can be"))
        }
        if isStored, race.rules.yielding == part.other, packed.holds(type) { store.forget(key, type.otherFamily) }
        return given(packed, tag)
    }

    private func given(_ packed: PackedAnswer, _ tag: UInt16) -> FlightClients.Outcome {
        .given(
            Response(
                .answer(packed, age: clock.now.seconds &- heard.seconds), from: AnswerKind(tag, route: key.route),
                source: tag))
    }

    // MARK: DNS64

    /// Addresses made of the other family's (RFC 6147), of the worse of both ranks.
    private func translated(
        _ answer: RaceAnswer, _ part: RacePart, _ isStored: Bool
    ) -> FlightClients.Outcome {
        // What was made before is stale itself.
        if answer.rank == .stale, let stale = self[part].stale { return .missing(stale: stale, reason(part)) }
        let denial = self[part].found.last
        let ipv4 = ipv4Answer(isStale: answer.rank == .stale)
        let source = [denial?.source, ipv4?.source].compactMap(\.self).max { rank(of: $0) < rank(of: $1) } ?? .rule
        let longest = min(denial?.answer.translationTTL ?? Self.madeTTL, answer.life ?? .max)
        guard let ipv4, case .prefix(let prefix) = policy.translation, !ipv4.answer.hasSignatures,
            denial?.answer.hasSignatures != true, let made = prefix.translated(ipv4.answer, longest: longest)
        else {
            guard let denial else { return missing(part) }
            return give(denial, part, life: nil, isStored)
        }
        guard
            let packed = store.keep(
                made, for: key, .aaaa, source, denial?.server ?? "", isTranslated: true,
                isStored: isStored && answer.rank != .stale, at: heard)
        else { return missing(part) }
        return given(packed, policy.sources.tag(of: source))
    }

    private func rank(of source: Source) -> RaceAnswer.Rank {
        SourceTags.rank(policy.sources.tag(of: source), by: key.route)
    }

    /// The name's IPv4 addresses that clients get.
    private func ipv4Answer(isStale: Bool) -> (answer: Answer, source: Source)? {
        let question = Question(name: key.name, type: .a)
        if let own = race.known(.a, clock.now), own.origin != .cache, case .given(let response) = outcome(own, .a) {
            let source = response.source.flatMap { policy.sources.source(of: $0) }
            return response.records(for: question).map { ($0, source ?? .rule) }
        }
        guard let cached = store.cached(key, .a), cached.isFresh != isStale,
            let answer = cached.response.records(for: question)
        else { return nil }
        return (answer, policy.sources.source(of: cached.source) ?? .rule)
    }

    // MARK: Why there is no answer

    private func missing(_ part: RacePart) -> FlightClients.Outcome { .missing(stale: nil, reason(part)) }

    private func reason(_ part: RacePart) -> ExtendedError {
        let local = self[part].localFailure ?? self[part].local.map { refusal(of: $0, part) }
        let failure: UpstreamFailure? =
            switch (self[part].providerFailure ?? reasonAgainstProviders, local) {
            case (let httpdns?, let local?): .combined(httpdns: httpdns, localDNS: local)
            case (let failure?, nil), (nil, let failure?): failure
            case (nil, nil): nil
            }
        return failure?.extendedError ?? ExtendedError(.noReachableAuthority, "no answer in time")
    }

    /// Why none of the providers was asked; nil where one was.
    private var reasonAgainstProviders: UpstreamFailure? {
        guard !race.rules.trustsLocalDNS, line.members.allSatisfy(\.endpoints.isEmpty) else { return nil }
        return policy.lines.reasonAgainstProviders(of: key)
    }

    /// Why an answer of LocalDNS is of no use.
    private func refusal(of found: FlightLane.Found, _ part: RacePart) -> UpstreamFailure {
        found.answer.isNegative(for: type(of: part))
            ? .unusable("a LocalDNS that says there is nothing cannot be believed")
            : .unusable("nothing verifies the addresses of LocalDNS")
    }
}

extension Response {
    /// Whether it says that the name does not exist. Vendors without response codes give it no address; a name without
    /// IPv6 address alone mostly has others.
    fileprivate func denies(_ type: RecordType) -> Bool {
        guard case .answer(let answer, _) = content else { return false }
        return answer.responseCode == .nameError || type == .a && !answer.holds(.a)
    }
}
