import DNSWire

/// Where a race stands: what is known of each type, where each source is with it, and what follows of that: the best answer, and
/// whether a better one may come (Documentation/Strategy.md, whose sections are named here).
struct RaceState: Hashable, Sendable {
    var rules: RaceRules
    /// The place of LocalDNS.
    let local: Int?
    /// For A, or the one type.
    private var a: RaceLane
    private var aaaa: RaceLane
    /// Where each source of the line stands.
    var places: [RaceLane.Places]
    /// When the first client has joined.
    private(set) var began: Instant?
    private(set) var ends: Instant

    init(_ rules: consuming RaceRules, ends: Instant) {
        self.ends = ends
        local = rules.line.firstIndex(where: \.isLocal)
        a = RaceLane(rules.a)
        aaaa = RaceLane(rules.aaaa)
        places = rules.line.map { _ in RaceLane.Places() }
        self.rules = rules
    }

    /// Begins the race.
    mutating func begin(_ now: Instant) {
        (began, ends) = (now, min(ends, Instant(nanoseconds: now.nanoseconds + Strategy.end)))
    }

    var line: [RaceRules.Source] { rules.line }

    subscript(part: RacePart) -> RaceLane {
        // A lane is long: a copy of it for each of its fields would be.
        @inline(__always) get { part == .a ? a : aaaa }
        _modify { if part == .a { yield &a } else { yield &aaaa } }
    }

    var parts: [RacePart] { rules.hasFamilies ? RacePart.allCases : [.a] }

    func age(_ now: Instant) -> Int64 { now.nanoseconds - (began ?? now).nanoseconds }

    /// Whether clients wait for a type, or a better answer may come.
    func isRunning(_ part: RacePart) -> Bool { self[part].isWanted && !self[part].isOver }

    // MARK: Whether sources are awaited (section 2)

    func mayAsk(_ now: Instant) -> Bool { age(now) <= Strategy.lastAsk && now < ends }

    /// Whether it has rank 1, or rank 2 "as rank 1".
    func isDone(_ part: RacePart) -> Bool {
        self[part].first != nil || rules.mode == .localDNSFirst && verifiedAnswer(part) != nil
    }

    /// LocalDNS's place, where it may know a name better that is denied (5.3).
    func searched(_ part: RacePart) -> Int? {
        guard rules.isInSearchDomain, self[part].first?.kind == .nxDomain else { return nil }
        return local
    }

    /// Whether a reply of the source, or what may make one of it, is waited for.
    func isAwaited(_ part: RacePart, _ place: Int) -> Bool {
        let status = places[place][part].status
        guard line[place].isLocal else { return status == .asked || status == .empty }
        if status == .asked || self[part].proof.isUnderWay { return true }
        return denial(part) != nil && verifiedAnswer(part) == nil
            && (self[part.other].proof.isUnderWay || places[place][part.other].status == .asked)
    }

    /// Whether no answer of ranks 1 or 2 can come of the source any more.
    func hasFailed(_ part: RacePart, _ place: Int, _ now: Instant) -> Bool {
        let status = places[place][part].status
        if now >= ends || status == .failed { return true }
        if status == .unasked { return line[place].health == .backoff || age(now) > Strategy.lastAsk }
        guard line[place].isLocal, status != .probed, status != .busy else { return false }
        return !isAwaited(part, place) && verifiedAnswer(part) == nil
    }

    /// LocalDNS's denial, if it denies.
    func denial(_ part: RacePart) -> RaceAnswer.Kind? {
        switch local.map({ places[$0][part].status }) {
        case .localNoData?: .noData
        case .localNXDomain?: .nxDomain
        default: nil
        }
    }

    func haveAllFailed(_ part: RacePart, _ now: Instant) -> Bool {
        line.indices.allSatisfy { hasFailed(part, $0, now) }
    }

    func haveProvidersFailed(_ part: RacePart, before place: Int? = nil, _ now: Instant) -> Bool {
        (0..<(place ?? line.count)).allSatisfy { line[$0].isLocal || hasFailed(part, $0, now) }
    }

    // MARK: What is known of one type (section 3)

    /// Rank 2: verified addresses; NODATA beside a verified family; its denial where a provider is empty too: musl ends its
    /// search for a name at NODATA, and goes on at NXDOMAIN.
    private func verifiedAnswer(_ part: RacePart) -> RaceAnswer? {
        guard !rules.trustsLocalDNS else { return nil }
        let life = rules.mode == .localDNSFirst ? Strategy.localFirstLife : Strategy.localLife
        if !self[part].proof.verified.isEmpty {
            return RaceAnswer(.verified, .records, .localDNS(self[part].proof.verified), life: life)
        }
        guard let denial = denial(part) else { return nil }
        let isBeside = !self[part.other].proof.verified.isEmpty
        guard isBeside || self[part].wasEmpty || rules.isVerifiedUnchecked else { return nil }
        return RaceAnswer(.verified, isBeside ? .noData : denial, .localDNS([]), life: life)
    }

    /// Ranks 3 to 6; at a client's own end, when sources may have answered yet, without 5.
    private func whenAllFailed(_ part: RacePart, atOwnEnd: Bool) -> RaceAnswer {
        let lane = self[part]
        if let stale = lane.stale { return RaceAnswer(.stale, stale.kind, .stale, life: Strategy.shortLife) }
        if let preset = lane.preset { return RaceAnswer(.preset, preset, .preset, life: Strategy.presetLife) }
        let isForged = !lane.proof.forged.isEmpty
        let kind = denial(part) ?? (lane.proof.addresses.isEmpty || isForged ? nil : .records)
        if !atOwnEnd, rules.isUnlisted, let kind {
            return RaceAnswer(.unproved, kind, .localDNS(lane.proof.addresses), life: Strategy.localLife)
        }
        // 5.4: nothing else may answer these.
        if rules.isGuarded { return RaceAnswer(.failure, .noData, .nowhere(isForged: false), life: Strategy.shortLife) }
        return RaceAnswer(.failure, .serverFailure, .nowhere(isForged: isForged), life: Strategy.shortLife)
    }

    /// The best that is known of one type by itself; at a client's own end while others go on waiting.
    func known(_ part: RacePart, _ now: Instant, atOwnEnd: Bool = false) -> RaceAnswer? {
        if let first = self[part].first {
            // 5.3: LocalDNS's addresses are given instead, of listed names the verified.
            let instead = rules.isUnlisted ? self[part].proof.addresses : self[part].proof.verified
            if searched(part) != nil, !instead.isEmpty {
                return RaceAnswer(.provider, .records, .localDNS(instead), life: Strategy.localLife)
            }
            let life = rules.mode == .portal ? Strategy.portalLife : nil
            return RaceAnswer(.provider, first.kind, .source(first.place), life: life)
        }
        let cached = self[part].isFresh && !self[part].isWanted ? self[part].cached : nil
        let verified = verifiedAnswer(part)
        if let cached, verified.map({ cached.rank <= $0.rank }) ?? true { return cached }
        if let verified { return verified }
        let isFailed = atOwnEnd || self[part].stale != nil || self[part].isWanted && haveAllFailed(part, now)
        return isFailed ? whenAllFailed(part, atOwnEnd: atOwnEnd) : nil
    }

    // MARK: What the families need of each other (section 5)

    /// Whether the other family may change the answer (5.2, 5.5, `answers.prefer`).
    func needsOther(_ part: RacePart, _ own: RaceAnswer) -> Bool {
        own.rank >= .unproved || rules.translates && part == .aaaa && own.kind != .records
            || rules.yielding == part && own.kind == .records
    }

    /// 5: a family that yields is not asked for beside addresses of the other one, unless they are of rank 5 (5.2), and 0.3 s
    /// after it.
    func yields(_ part: RacePart, _ now: Instant) -> Bool {
        guard rules.yielding == part else { return false }
        let other = known(part.other, now)
        return other.map { $0.kind == .records && $0.rank < .unproved } ?? false
            || age(now) < Strategy.step && isOtherUnderWay(part, now)
    }

    /// 5: from both families to a reply.
    private func fitted(_ part: RacePart, _ own: RaceAnswer, _ now: Instant, atOwnEnd: Bool) -> RaceAnswer {
        guard rules.hasFamilies, let other = known(part.other, now, atOwnEnd: atOwnEnd) else { return own }
        let worst = max(own.rank, other.rank)
        let isBeaten = !rules.isSigned && own.rank >= .unproved && other.rank < own.rank
        // 5.5
        if rules.translates, part == .aaaa, isBeaten || own.kind != .records, other.kind == .records {
            return RaceAnswer(worst, .records, .translation, life: other.life)
        }
        // 5.2
        guard !rules.isSigned else { return own }
        if isBeaten, other.kind == .records || other.kind == .nxDomain {
            let kind: RaceAnswer.Kind = other.kind == .records ? .noData : .nxDomain
            return RaceAnswer(.failure, kind, .family, life: Strategy.shortLife)
        }
        if own.kind == .nxDomain, other.kind == .records, other.rank < .unproved || own.rank == .unproved {
            return RaceAnswer(worst, .noData, .family, life: Strategy.shortLife)
        }
        return own
    }

    // MARK: What a client gets (section 3)

    /// Whether something of rank 1 or 2 may still come of the other family.
    private func isOtherUnderWay(_ part: RacePart, _ now: Instant) -> Bool {
        let other = part.other
        guard rules.hasFamilies, !self[other].isOver, now < ends,
            known(other, now).map({ $0.rank > .verified }) ?? true, !haveAllFailed(other, now)
        else { return false }
        return self[other].isWanted
            || line.indices.contains {
                !line[$0].isLocal && places[$0][other].status.isThere
            }
    }

    /// Whether a stale answer may be given by its age.
    private func isStaleDue(_ part: RacePart, _ now: Instant) -> Bool {
        guard let stale = self[part].stale, stale.kind != .nxDomain else { return false }
        return age(now) >= (stale.isYoung ? rules.staleWait : Strategy.reserve)
    }

    /// The best that is known, once any may be taken: at a client's own end at once.
    func best(_ part: RacePart, _ now: Instant, atOwnEnd: Bool = false) -> RaceAnswer? {
        if rules.yielding == part, let other = best(part.other, now, atOwnEnd: atOwnEnd), other.kind == .records {
            return RaceAnswer(other.rank, .noData, .suppressed, life: other.life)
        }
        guard var own = known(part, now, atOwnEnd: atOwnEnd) else { return nil }
        if own.origin == .cache { return own }
        var isDue = atOwnEnd || isStaleDue(part, now)
        if own.kind == .nxDomain, let local = searched(part), denial(part) == nil {
            guard isDue || age(now) >= Strategy.reserve || hasFailed(part, local, now) else { return nil }
            own.life = Strategy.localLife
        }
        let isEarlyDenial = own.rank == .provider && own.kind == .nxDomain && age(now) < Strategy.reserve
        let waits = (isEarlyDenial || needsOther(part, own)) && isOtherUnderWay(part, now)
        switch own.rank {
        case .provider: isDue = isDue || !waits
        case _ where verifiedAnswer(part) != nil:
            // 4: once one is verified, the others are awaited for 0.3 s at most.
            let areOthersOver = self[part].proof.verifiedAt.map {
                now.nanoseconds - $0.nanoseconds >= Strategy.otherAddresses
            }
            let isReady = !self[part].proof.isUnderWay || areOthersOver ?? false
            let mayBeTaken =
                rules.mode == .localDNSFirst || age(now) >= Strategy.reserve || haveProvidersFailed(part, now)
            isDue = isDue || !waits && (isReady && mayBeTaken || haveAllFailed(part, now))
        default: isDue = isDue || !waits && haveAllFailed(part, now)
        }
        return isDue ? fitted(part, own, now, atOwnEnd: atOwnEnd) : nil
    }
}
