import DNSCache
import DNSWire
import Racing
import Scheduling

/// What becomes of the answers of a flight's race: what is stored, and what clients get.
@Loop
struct FlightAnswers {
    /// Seconds for which a denial is cached that is made here.
    static let madeTTL: UInt32 = 5
    /// Seconds for which "no address of this family" is cached at most, where the other family is preferred.
    private static let longestSuppression: UInt32 = 300

    let flight: Flight

    private var key: FlightKey { flight.key }
    private var policy: ResolverPolicy { flight.policy }
    private var store: AnswerStore { flight.store }

    private subscript(part: Race.Part) -> FlightLane { flight[part] }

    /// Stores an answer, or remembers that there is none.
    func keep(_ answer: RaceAnswer, _ part: Race.Part) -> Flight.Outcome {
        let type = flight.type(of: part)
        let outcome = outcome(answer, part, isStored: true)
        switch outcome {
        case .answer(let packed, let source):
            flight.environment.failures.answered(key, type, isMadeHere: source == nil || source == SourceTags.rule)
            // One call, for both families or for one.
            if let brake = flight.environment.brake, type == flight.types[0], key.isBraked, packed.denies(type) {
                brake.denied(key.name, to: key.holder, at: flight.clock.now)
            }
        case .cached: break
        case .stale(_, let error), .failure(let error):
            guard !flight.isLate, self[part].providerFailure?.isOurs != true, self[part].localFailure?.isOurs != true
            else {
                break
            }
            flight.environment.failures.failed(
                key, type, isTransport: isSilent(part), error: error, at: flight.clock.now, asked: flight.began,
                hasStale: answer.rank == .stale)
        }
        return outcome
    }

    /// What clients get of an answer.
    func outcome(_ answer: RaceAnswer, _ part: Race.Part, isStored: Bool = false) -> Flight.Outcome {
        let type = flight.type(of: part)
        // 8: what a door has refused says nothing against the providers.
        if answer.rank == .unproved, self[part].providerFailure?.isOurs == true { return .failure(reason(part)) }
        switch answer.origin {
        case .source(let place):
            guard let found = self[part].answer(at: place) else { return .failure(reason(part)) }
            return give(found, part, life: answer.life, isStored)
        case .localDNS(let addresses):
            guard var found = self[part].local else { return .failure(reason(part)) }
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
            return give(FlightLane.Found(made), part, life: answer.life, isStored)
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
            return .failure(
                ExtendedError(
                    .forgedAnswer, "the addresses of LocalDNS show certificates that are not the name's"))
        case .stale: return self[part].stale.map { .stale($0, reason(part)) } ?? .failure(reason(part))
        case .preset, .nowhere, .cache: return .failure(reason(part))
        }
    }

    /// - Parameter life: seconds for which it lives at most; nil: its TTL.
    private func give(_ found: FlightLane.Found, _ part: Race.Part, life: UInt32?, _ isStored: Bool) -> Flight.Outcome {
        let type = flight.type(of: part)
        let tag = policy.sources.tag(of: found.source)
        if isStored {
            key.note(
                .decide, "\(type): \(found.answer.traceText(type)), from \(policy.sourceName(tag, by: key.route).text)")
        }
        // A family that no client may use is asked for only when the other one is made of it.
        let isGiven = key.isSigned || !policy.localAnswers.families.excludes(type)
        let packed = store.keep(
            policy.consistent(found.answer, for: key), for: key, type, found.source, found.server,
            longest: min(life ?? .max, found.sharedFor ?? .max), isStored: isStored && found.isStored && isGiven)
        guard let packed else { return .failure(ExtendedError(.other, "the answer is longer than a message can be")) }
        if isStored, flight.yielding == part.other, packed.holds(type) { store.forget(key, type.otherFamily) }
        return .answer(packed, source: tag)
    }

    // MARK: DNS64

    /// Addresses made of the other family's (RFC 6147), of the worse of both ranks.
    private func translated(
        _ answer: RaceAnswer, _ part: Race.Part, _ isStored: Bool
    ) -> Flight.Outcome {
        // What was made before is stale itself.
        if answer.rank == .stale, let stale = self[part].stale { return .stale(stale, reason(part)) }
        let denial = self[part].found.last
        let ipv4 = ipv4Answer(isStale: answer.rank == .stale)
        let source = [denial?.source, ipv4?.source].compactMap(\.self).max { $0.worth > $1.worth } ?? .rule
        let longest = min(denial?.answer.translationTTL ?? Self.madeTTL, answer.life ?? .max)
        guard let ipv4, case .prefix(let prefix) = policy.translation, !ipv4.answer.hasSignatures,
            denial?.answer.hasSignatures != true, let made = prefix.translated(ipv4.answer, longest: longest)
        else {
            guard let denial else { return .failure(reason(part)) }
            return give(denial, part, life: nil, isStored)
        }
        guard
            let packed = store.keep(
                made, for: key, .aaaa, source, denial?.server ?? "", isTranslated: true,
                isStored: isStored && answer.rank != .stale)
        else { return .failure(reason(part)) }
        return .answer(packed, source: policy.sources.tag(of: source))
    }

    /// The name's IPv4 addresses that clients get.
    private func ipv4Answer(isStale: Bool) -> (answer: Answer, source: Source)? {
        let question = Question(name: key.name, type: .a)
        if let own = flight.known(.a), own.origin != .cache, case .answer(let packed, let tag) = outcome(own, .a) {
            return packed.unpacked(for: question).map { ($0, tag.flatMap { policy.sources.source(of: $0) } ?? .rule) }
        }
        guard let cached = store.cached(key, .a), cached.isFresh != isStale,
            let answer = cached.response.records(for: question)
        else { return nil }
        return (answer, policy.sources.source(of: cached.source) ?? .rule)
    }

    // MARK: Why there is no answer

    /// Whether there was no response at all.
    private func isSilent(_ part: Race.Part) -> Bool {
        (self[part].providerFailure?.isTransport ?? true) && (self[part].localFailure?.isTransport ?? true)
            && self[part].local == nil
    }

    private func reason(_ part: Race.Part) -> ExtendedError {
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
        guard !flight.line.rules.trustsLocalDNS, flight.members.allSatisfy(\.endpoints.isEmpty) else { return nil }
        return flight.line.eligible.isEmpty
            ? .unusable("no provider for this name and type")
            : .network(policy.lines.providers.reasonAgainst(flight.line.eligible))
    }

    /// Why an answer of LocalDNS is of no use.
    private func refusal(of found: FlightLane.Found, _ part: Race.Part) -> UpstreamFailure {
        found.answer.isNegative(for: flight.type(of: part))
            ? .unusable("a LocalDNS that says there is nothing cannot be believed")
            : .unusable("nothing verifies the addresses of LocalDNS")
    }
}

extension Source {
    /// How much its answers are worth.
    fileprivate var worth: Int {
        switch self {
        case .provider, .shared, .forward: 3
        case .verifiedLocalDNS: 2
        case .localDNS: 1
        case .rule, .preset: 0
        }
    }
}

extension Answer {
    /// The same answer with those of its addresses for which `isWanted` is true; the signatures of an RRset that
    /// shrinks are removed too.
    fileprivate func keeping(_ isWanted: (IPAddress) -> Bool) -> Answer {
        var rest = self
        rest.answers.removeAll { record in record.address.map { !isWanted($0) } ?? false }
        guard rest.answers.count < answers.count else { return self }
        rest.answers.removeAll { $0.coveredType?.isAddress == true }
        return rest
    }
}

extension PackedAnswer {
    /// Whether it says that the name does not exist. Vendors without response codes give it no address; a name without
    /// IPv6 address alone mostly has others.
    fileprivate func denies(_ type: RecordType) -> Bool { responseCode == .nameError || type == .a && !holds(.a) }
}
