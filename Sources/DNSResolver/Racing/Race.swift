package import Scheduling

/// The race for one name: which source is asked, when, and what each client gets (Documentation/Strategy.md, whose sections are
/// named here).
///
/// A value: events and times in, effects out. It has no clock and does nothing by itself: what runs it asks the
/// sources, keeps their records, and calls `apply` with `.time` when `wake` has come. Of what may come at the same time,
/// `.time` is the last. After a change (section 7) what runs it begins another one, which ends when this one would have.
package struct Race: Hashable, Sendable {
    // Nanoseconds; sections 2 to 5.
    private static let step = milliseconds(300)
    private static let reserve = milliseconds(900)
    private static let lastAsk = milliseconds(1_900)
    private static let end = milliseconds(2_300)
    private static let otherAddresses = milliseconds(300)
    // Seconds; section 3.
    private static let localLife: UInt32 = 30
    private static let localFirstLife: UInt32 = 600
    private static let presetLife: UInt32 = 30
    private static let shortLife: UInt32 = 5
    private static let portalLife: UInt32 = 10
    // Addresses; section 4. `RaceAnswer.Addresses` has as many members.
    private static let checksAtOnce = 3

    private static func milliseconds(_ count: Int64) -> Int64 { count * 1_000_000 }

    private var rules: RaceRules
    private var local: Int?
    /// For A, or the one type.
    private var a: RaceLane
    private var aaaa: RaceLane
    /// Where each source of the line stands.
    private var places: [RaceLane.Places]
    private var waiting: [Waiter] = []
    private var began: Instant?
    private var ends: Instant

    /// - Parameter ends: when its oldest client must have its answer. Default: 2.3 s after it has joined.
    package init(_ rules: RaceRules, ends: Instant = Instant(nanoseconds: .max)) {
        self.rules = rules
        self.ends = ends
        local = rules.line.firstIndex(where: \.isLocal)
        a = RaceLane(rules.a)
        aaaa = RaceLane(rules.aaaa)
        places = rules.line.map { _ in RaceLane.Places() }
    }

    private struct Waiter: Hashable {
        let client: Int
        let part: RacePart
    }

    private var line: [RaceRules.Source] { rules.line }

    private subscript(part: RacePart) -> RaceLane {
        // A lane is long: a copy of it for each of its fields would be.
        @inline(__always) get { part == .a ? a : aaaa }
        _modify { if part == .a { yield &a } else { yield &aaaa } }
    }

    private var parts: ClosedRange<RacePart> { .a...(rules.hasFamilies ? .aaaa : .a) }

    /// Whether clients wait, or a better answer may come.
    package private(set) var isRunning = false

    /// When `.time` is due next; nil while nothing is awaited.
    package private(set) var wake: Instant?

    /// The same of one type.
    package func isRunning(_ part: RacePart) -> Bool { self[part].isWanted && !self[part].isOver }

    /// The event, then whatever is due at `now`.
    package mutating func apply(_ event: RaceEvent, at now: Instant) -> [RaceEffect] {
        var effects: [RaceEffect] = []
        effects.reserveCapacity(4)
        switch event {
        case .joined(let client, let part): joined(client, part, isLate: false, now, &effects)
        case .joinedLate(let client, let part): joined(client, part, isLate: true, now, &effects)
        case .replied(let place, let replies):
            for part in parts {
                guard let reply = replies[part] else { continue }
                if line[place].isLocal { localReplied(part, reply, now, &effects) } else { replied(place, part, reply) }
            }
        case .checked(let part, let address, let verdict): checked(part, .at(address), verdict, now, &effects)
        case .failed(let place, let types): failed(place, types, isWhole: false, now, &effects)
        case .refused(let place, let types): failed(place, types, isWhole: true, now, &effects)
        case .busy(let place, let types): busy(place, types)
        case .probed(let place, let isUp): probed(place, isUp, now, &effects)
        case .timeUp, .time: break
        }
        guard began != nil else { return effects }
        // Twice: for what one family needs of the other (section 5).
        for _ in parts {
            for part in parts {
                resolveEmpty(part, now, &effects)
                seekOther(part, now)
            }
            // The one that yields first: else its first source would wait for a step after LocalDNS, asked for both.
            let first = rules.yielding ?? .a
            while askNext(first, now, &effects) {}
            while askNext(first.other, now, &effects) {}
        }
        for _ in parts { for part in parts { settle(part, now, &effects) } }
        if case .timeUp(let client) = event { timeUp(client, now, &effects) }
        isRunning = parts.contains { isRunning($0) }
        wake = isRunning ? nextTime(after: now) : nil
        return effects
    }

    /// What the cache had past its TTL is there no longer.
    package mutating func forgetStale(_ part: RacePart) {
        self[part].stale = nil
        if self[part].cached?.rank == .stale { self[part].cached = nil }
    }

    /// What the cache had within its TTL is past it now, or gone.
    package mutating func expire(_ part: RacePart, _ stale: RaceRules.Stale?) {
        (self[part].cached, self[part].stale) = (nil, stale)
    }

    private func nextTime(after now: Instant) -> Instant? {
        guard let began else { return nil }
        var next: Int64?
        func add(_ time: Int64) { if time > now.nanoseconds { next = min(next ?? time, time) } }
        for wait in [rules.staleWait, Self.reserve, Self.lastAsk + Self.milliseconds(1)] {
            add(began.nanoseconds + wait)
        }
        if rules.yielding != nil { add(began.nanoseconds + Self.step) }
        add(ends.nanoseconds)
        for part in parts {
            if let last = self[part].lastAsk, self[part].isWanted, !self[part].isOver {
                add(last.nanoseconds + Self.step)
            }
            if let verified = self[part].verifiedAt { add(verified.nanoseconds + Self.otherAddresses) }
        }
        return next.map { Instant(nanoseconds: $0) }
    }

    private func age(_ now: Instant) -> Int64 { now.nanoseconds - (began ?? now).nanoseconds }

    // MARK: Clients

    private mutating func joined(
        _ client: Int, _ part: RacePart, isLate: Bool, _ now: Instant, _ effects: inout [RaceEffect]
    ) {
        let isFirst = began.map { now <= $0 } ?? true
        if let cached = self[part].cached, self[part].isFresh || self[part].isOver {
            effects.append(.reply(client, part, cached))
            // 2: a question in the last tenth of an answer's life begins a race.
            guard self[part].isFresh, self[part].isEnding, isFirst else { return }
        } else if self[part].isOver || began != nil && !isLate && isTooOldToJoin(now) {
            return effects.append(.again(client, part))
        } else {
            waiting.append(Waiter(client: client, part: part))
        }
        self[part].isWanted = true
        if began == nil { (began, ends) = (now, min(ends, Instant(nanoseconds: now.nanoseconds + Self.end))) }
    }

    /// 2: equal questions share a race until it is 1.9 s old.
    private func isTooOldToJoin(_ now: Instant) -> Bool {
        age(now) > Self.lastAsk || ends.nanoseconds - now.nanoseconds < Self.end - Self.lastAsk
    }

    /// 3: the best known of ranks 1 to 4, else 6, not remembered.
    private mutating func timeUp(_ client: Int, _ now: Instant, _ effects: inout [RaceEffect]) {
        for waiter in waiting where waiter.client == client {
            guard let best = best(waiter.part, now, atOwnEnd: true) else { continue }
            effects.append(.reply(client, waiter.part, best))
        }
        waiting.removeAll { $0.client == client }
    }

    // MARK: What sources say

    private mutating func replied(_ place: Int, _ part: RacePart, _ reply: RaceReply) {
        let status = places[place][part].status
        guard status.isThere, !self[part].isOver || !self[part].isWanted else { return }
        let (next, kind): (RaceLane.Status, RaceAnswer.Kind?) =
            switch reply {
            case .records: (.records, .records)
            case .noData: (.denied, .noData)
            case .nxDomain: (.denied, .nxDomain)
            case .empty: (.empty, nil)
            }
        places[place][part].status = next
        if let kind {
            if self[part].first == nil { self[part].first = (kind, place) }
        } else {
            self[part].wasEmpty = true
            endProvider(of: place, part)
        }
    }

    private mutating func localReplied(
        _ part: RacePart, _ reply: RaceReply, _ now: Instant, _ effects: inout [RaceEffect]
    ) {
        guard let local, places[local][part].status == .asked else { return }
        let (status, kind): (RaceLane.Status, RaceAnswer.Kind?) =
            switch reply {
            case .records(let count): count > 0 ? (.records, .records) : (.failed, nil)
            case .noData, .empty: (.localNoData, .noData)
            case .nxDomain: (.localNXDomain, .nxDomain)
            }
        places[local][part].status = status
        if rules.trustsLocalDNS {
            if let kind, self[part].first == nil { self[part].first = (kind, local) }
        } else if case .records(let count) = reply {
            // 4: up to eight addresses, three at a time.
            let all = RaceAnswer.Addresses(count: count)
            self[part].addresses = all
            if rules.isVerifiedUnchecked { (self[part].verified, self[part].verifiedAt) = (all, now) }
            if rules.checksAddresses { self[part].unchecked = all.subtracting(.further) }
            startChecks(part, &effects)
        }
    }

    private mutating func startChecks(_ part: RacePart, _ effects: inout [RaceEffect]) {
        let next = self[part].unchecked.first(Self.checksAtOnce - self[part].checking.count)
        guard !next.isEmpty else { return }
        self[part].unchecked.subtract(next)
        self[part].checking.formUnion(next)
        effects.append(.check(part, next))
    }

    /// 4: what is another's is thrown away wherever it is, also after the race.
    private mutating func checked(
        _ part: RacePart, _ address: RaceAnswer.Addresses, _ verdict: RaceVerdict, _ now: Instant,
        _ effects: inout [RaceEffect]
    ) {
        let verdict: RaceVerdict =
            switch verdict {
            case .wrongTime: rules.isClockWrong ? .verified : .unproved
            case .anothers where rules.isClockWrong && rules.isUnlisted: .unproved
            default: verdict
            }
        // The other family may wait for it, when this one is over (5).
        let isAwaited = !self[part].isOver || isRunning(part.other)
        guard self[part].checking.contains(address), isAwaited || verdict == .anothers else { return }
        self[part].checking.subtract(address)
        if verdict == .verified {
            self[part].verified.formUnion(address)
            if self[part].verifiedAt == nil { self[part].verifiedAt = now }
        }
        if verdict == .anothers { self[part].anothers.formUnion(address) }
        if verdict == .unreachable { self[part].addresses.subtract(address) }
        if isAwaited { startChecks(part, &effects) }
        guard verdict == .anothers, self[part].verified.isEmpty, let cached = self[part].cached,
            cached.rank == .unproved, cached.kind == .records
        else { return }
        self[part].cached = nil
        effects.append(.drop(part))
    }

    /// 2: at its next address, if it has one.
    private mutating func failed(
        _ place: Int, _ types: RaceParts, isWhole: Bool, _ now: Instant, _ effects: inout [RaceEffect]
    ) {
        var again = RaceParts()
        for part in parts where types.contains(RaceParts(part)) {
            let status = places[place][part].status
            guard status.isThere || isWhole && status == .unasked else { continue }
            places[place][part].status = .failed
            if isWhole { endProvider(of: place, part) }
            guard !isWhole, mayAsk(now) else { continue }
            if Int(places[place][part].address) + 1 < line[place].addresses {
                places[place][part].address += 1
                places[place][part].status = .asked
                again.insert(RaceParts(part))
            } else if line.indices.contains(place + 1), line[place + 1].provider == line[place].provider,
                places[place + 1][part].status == .unasked, !isDone(part)
            {
                ask(part, place + 1, now, &effects)
            }
        }
        guard !again.isEmpty else { return }
        let part: RacePart = again.contains(.a) ? .a : .aaaa
        let address = line[place].firstAddress + Int(places[place][part].address)
        effects.append(.ask(place, again, address: address))
    }

    /// What its provider has said once, it would say at its other address.
    private mutating func endProvider(of place: Int, _ part: RacePart) {
        for other in line.indices where line[other].provider == line[place].provider && !line[place].isLocal {
            if places[other][part].status == .unasked { places[other][part].status = .failed }
        }
    }

    /// 6: its question is with the service, which sends it again as soon as it can.
    private mutating func busy(_ place: Int, _ types: RaceParts) {
        for part in parts where types.contains(RaceParts(part)) && places[place][part].status == .asked {
            places[place][part].status = .busy
        }
    }

    /// 2: asked as soon as it can be.
    private mutating func probed(_ place: Int, _ isUp: Bool, _ now: Instant, _ effects: inout [RaceEffect]) {
        rules.line[place].health = isUp ? .usable : .backoff
        for part in parts where places[place][part].status == .probed {
            places[place][part].status = isUp ? .unasked : .failed
            guard isUp, isRunning(part), mayAsk(now), !isDone(part) else { continue }
            ask(part, place, now, &effects)
        }
    }

    // MARK: What is asked, and when (section 2)

    private func mayAsk(_ now: Instant) -> Bool { age(now) <= Self.lastAsk && now < ends }

    /// Asks the next source for a type, if its turn has come.
    private mutating func askNext(_ part: RacePart, _ now: Instant, _ effects: inout [RaceEffect]) -> Bool {
        guard isRunning(part), mayAsk(now) else { return false }
        guard !isDone(part) else {
            // 5.3: LocalDNS alone, and at once.
            guard let local = searched(part), places[local][part].status == .unasked else { return false }
            return ask(part, local, now, &effects)
        }
        if yields(part, now) { return false }
        // 2: `localdns-first` waits while addresses are checked.
        if rules.mode == .localDNSFirst, age(now) < Self.reserve,
            self[part].isChecking || self[part.other].isChecking && denial(part) != nil
        {
            return false
        }
        if let last = self[part].lastAsk, now.nanoseconds - last.nanoseconds < Self.step,
            line.indices.contains(where: { isAwaited(part, $0) })
        {
            return false
        }
        let due = line.indices.first { place in
            guard places[place][part].status == .unasked else { return false }
            // 2: what bills is skipped, until all providers before it failed, or 0.9 s.
            return line[place].mayHedge || age(now) >= Self.reserve
                || haveProvidersFailed(part, before: place, now)
        }
        guard let due else { return false }
        return ask(part, due, now, &effects)
    }

    @discardableResult
    private mutating func ask(_ part: RacePart, _ place: Int, _ now: Instant, _ effects: inout [RaceEffect]) -> Bool {
        let status: RaceLane.Status =
            switch line[place].health {
            case .usable: .asked
            case .probed: .probed
            case .backoff: .failed
            }
        var types = RaceParts()
        for each in parts {
            let isOpenThere = places[place][each].status.isOpen
            guard each == part || line[place].answersBoth && isOpenThere else { continue }
            types.insert(RaceParts(each))
            // Its own steps begin with what it wants, or when it is asked in its turn.
            let isInTurn = !places[..<place].contains { $0[each].status == .unasked }
            if status == .asked, self[each].isWanted || isInTurn { self[each].lastAsk = now }
            places[place][each].status = status
        }
        if status == .asked { effects.append(.ask(place, types, address: line[place].firstAddress)) }
        return true
    }

    /// Whether it has rank 1, or rank 2 "as rank 1".
    private func isDone(_ part: RacePart) -> Bool {
        self[part].first != nil || rules.mode == .localDNSFirst && verifiedAnswer(part) != nil
    }

    /// LocalDNS's place, where it may know a name better that is denied (5.3).
    private func searched(_ part: RacePart) -> Int? {
        guard rules.isInSearchDomain, self[part].first?.kind == .nxDomain else { return nil }
        return local
    }

    /// Whether a reply of the source, or what may make one of it, is waited for.
    private func isAwaited(_ part: RacePart, _ place: Int) -> Bool {
        let status = places[place][part].status
        guard line[place].isLocal else { return status == .asked || status == .empty }
        if status == .asked || self[part].isChecking { return true }
        return denial(part) != nil && verifiedAnswer(part) == nil
            && (self[part.other].isChecking || places[place][part.other].status == .asked)
    }

    /// Whether no answer of ranks 1 or 2 can come of the source any more.
    private func hasFailed(_ part: RacePart, _ place: Int, _ now: Instant) -> Bool {
        let status = places[place][part].status
        if now >= ends || status == .failed { return true }
        if status == .unasked { return line[place].health == .backoff || age(now) > Self.lastAsk }
        guard line[place].isLocal, status != .probed, status != .busy else { return false }
        return !isAwaited(part, place) && verifiedAnswer(part) == nil
    }

    /// LocalDNS's denial, if it denies.
    private func denial(_ part: RacePart) -> RaceAnswer.Kind? {
        switch local.map({ places[$0][part].status }) {
        case .localNoData?: .noData
        case .localNXDomain?: .nxDomain
        default: nil
        }
    }

    private func haveAllFailed(_ part: RacePart, _ now: Instant) -> Bool {
        line.indices.allSatisfy { hasFailed(part, $0, now) }
    }

    private func haveProvidersFailed(_ part: RacePart, before place: Int? = nil, _ now: Instant) -> Bool {
        (0..<(place ?? line.count)).allSatisfy { line[$0].isLocal || hasFailed(part, $0, now) }
    }

    // MARK: What is known (sections 3 to 5)

    /// 5.1: NODATA if that provider has addresses of the other family, which it is asked for; else failed.
    private mutating func resolveEmpty(_ part: RacePart, _ now: Instant, _ effects: inout [RaceEffect]) {
        guard self[part].wasEmpty else { return }
        let other = part.other
        for place in line.indices where places[place][part].status == .empty {
            let provider = line[place].provider
            if line.indices.contains(where: {
                line[$0].provider == provider && places[$0][other].status == .records
            }) {
                places[place][part].status = .denied
                if self[part].first == nil { self[part].first = (.noData, place) }
            } else if places[place][other].status == .unasked, mayAsk(now), line[place].health == .usable,
                rules.hasFamilies, !isDone(other)
            {
                ask(other, place, now, &effects)
            } else if !places[place][other].status.isThere {
                places[place][part].status = .failed
            }
        }
    }

    /// 5.2 asks for the other family if it is unknown; one that yields does so from the beginning.
    private mutating func seekOther(_ part: RacePart, _ now: Instant) {
        guard rules.hasFamilies, isRunning(part), !self[part.other].isWanted, mayAsk(now), !self[part].isFresh else {
            return
        }
        self[part.other].isWanted =
            rules.yielding == part
            ? known(part.other, now).map { $0.rank > .verified } ?? true
            : known(part, now).map { needsOther(part, $0) } ?? false && known(part.other, now) == nil
    }

    /// Whether the other family may change the answer (5.2, 5.5, `answers.prefer`).
    private func needsOther(_ part: RacePart, _ own: RaceAnswer) -> Bool {
        own.rank >= .unproved || rules.translates && part == .aaaa && own.kind != .records
            || rules.yielding == part && own.kind == .records
    }

    /// 5: a family that yields is not asked for beside addresses of the other one, unless they are of rank 5 (5.2), and 0.3 s
    /// after it.
    private func yields(_ part: RacePart, _ now: Instant) -> Bool {
        guard rules.yielding == part else { return false }
        let other = known(part.other, now)
        return other.map { $0.kind == .records && $0.rank < .unproved } ?? false
            || age(now) < Self.step && isOtherUnderWay(part, now)
    }

    /// Rank 2: verified addresses; NODATA beside a verified family; its denial where a provider is empty too: musl ends its
    /// search for a name at NODATA, and goes on at NXDOMAIN.
    private func verifiedAnswer(_ part: RacePart) -> RaceAnswer? {
        guard !rules.trustsLocalDNS else { return nil }
        let life = rules.mode == .localDNSFirst ? Self.localFirstLife : Self.localLife
        if !self[part].verified.isEmpty {
            return RaceAnswer(.verified, .records, .localDNS(self[part].verified), life: life)
        }
        guard let denial = denial(part) else { return nil }
        let isBeside = !self[part.other].verified.isEmpty
        guard isBeside || self[part].wasEmpty || rules.isVerifiedUnchecked else { return nil }
        return RaceAnswer(.verified, isBeside ? .noData : denial, .localDNS([]), life: life)
    }

    /// Ranks 3 to 6; at a client's own end, when sources may have answered yet, without 5.
    private func whenAllFailed(_ part: RacePart, atOwnEnd: Bool) -> RaceAnswer {
        let lane = self[part]
        if let stale = lane.stale { return RaceAnswer(.stale, stale.kind, .stale, life: Self.shortLife) }
        if let preset = lane.preset { return RaceAnswer(.preset, preset, .preset, life: Self.presetLife) }
        let isForged = !lane.anothers.isEmpty
        let kind = denial(part) ?? (lane.addresses.isEmpty || isForged ? nil : .records)
        if !atOwnEnd, rules.isUnlisted, let kind {
            return RaceAnswer(.unproved, kind, .localDNS(lane.addresses), life: Self.localLife)
        }
        // 5.4: nothing else may answer these.
        if rules.isGuarded { return RaceAnswer(.failure, .noData, .nowhere(isForged: false), life: Self.shortLife) }
        return RaceAnswer(.failure, .serverFailure, .nowhere(isForged: isForged), life: Self.shortLife)
    }

    /// The best that is known of one type by itself.
    ///
    /// - Parameter atOwnEnd: for a client whose time is over, while others go on waiting.
    package func known(_ part: RacePart, _ now: Instant, atOwnEnd: Bool = false) -> RaceAnswer? {
        if let first = self[part].first {
            // 5.3: LocalDNS's addresses are given instead, of listed names the verified.
            let instead = rules.isUnlisted ? self[part].addresses : self[part].verified
            if searched(part) != nil, !instead.isEmpty {
                return RaceAnswer(.provider, .records, .localDNS(instead), life: Self.localLife)
            }
            let life = rules.mode == .portal ? Self.portalLife : nil
            return RaceAnswer(.provider, first.kind, .source(first.place), life: life)
        }
        let cached = self[part].isFresh && !self[part].isWanted ? self[part].cached : nil
        let verified = verifiedAnswer(part)
        if let cached, verified.map({ cached.rank <= $0.rank }) ?? true { return cached }
        if let verified { return verified }
        let isFailed = atOwnEnd || self[part].stale != nil || self[part].isWanted && haveAllFailed(part, now)
        return isFailed ? whenAllFailed(part, atOwnEnd: atOwnEnd) : nil
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
            return RaceAnswer(.failure, kind, .family, life: Self.shortLife)
        }
        if own.kind == .nxDomain, other.kind == .records, other.rank < .unproved || own.rank == .unproved {
            return RaceAnswer(worst, .noData, .family, life: Self.shortLife)
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
        return age(now) >= (stale.isYoung ? rules.staleWait : Self.reserve)
    }

    /// The best that is known, once any may be taken: at a client's own end at once.
    private func best(_ part: RacePart, _ now: Instant, atOwnEnd: Bool = false) -> RaceAnswer? {
        if rules.yielding == part, let other = best(part.other, now, atOwnEnd: atOwnEnd), other.kind == .records {
            return RaceAnswer(other.rank, .noData, .suppressed, life: other.life)
        }
        guard var own = known(part, now, atOwnEnd: atOwnEnd) else { return nil }
        if own.origin == .cache { return own }
        var isDue = atOwnEnd || isStaleDue(part, now)
        if own.kind == .nxDomain, let local = searched(part), denial(part) == nil {
            guard isDue || age(now) >= Self.reserve || hasFailed(part, local, now) else { return nil }
            own.life = Self.localLife
        }
        let isEarlyDenial = own.rank == .provider && own.kind == .nxDomain && age(now) < Self.reserve
        let waits = (isEarlyDenial || needsOther(part, own)) && isOtherUnderWay(part, now)
        switch own.rank {
        case .provider: isDue = isDue || !waits
        case _ where verifiedAnswer(part) != nil:
            // 4: once one is verified, the others are awaited for 0.3 s at most.
            let areOthersOver = self[part].verifiedAt.map { now.nanoseconds - $0.nanoseconds >= Self.otherAddresses }
            let isReady = !self[part].isChecking || areOthersOver ?? false
            let mayBeTaken =
                rules.mode == .localDNSFirst || age(now) >= Self.reserve || haveProvidersFailed(part, now)
            isDue = isDue || !waits && (isReady && mayBeTaken || haveAllFailed(part, now))
        default: isDue = isDue || !waits && haveAllFailed(part, now)
        }
        return isDue ? fitted(part, own, now, atOwnEnd: atOwnEnd) : nil
    }

    /// A better rank replaces a worse one in the cache; every client that waits gets the best.
    private mutating func settle(_ part: RacePart, _ now: Instant, _ effects: inout [RaceEffect]) {
        // What comes with what was wanted is stored as well.
        guard isRunning(part) || !self[part].isOver && isDone(part) else { return }
        if let best = best(part, now) {
            if self[part].cached.map({ best.rank <= $0.rank && best != $0 }) ?? true {
                self[part].cached = best
                effects.append(.store(part, best))
            }
            for waiter in waiting where waiter.part == part { effects.append(.reply(waiter.client, part, best)) }
            waiting.removeAll { $0.part == part }
            let isLast = rules.mode == .localDNSFirst && best.rank == .verified && !self[part].isChecking
            let isSuppressed = best.origin == .suppressed && self[part.other].isOver
            self[part].isOver =
                best.rank == .provider || self[part].first != nil || isLast || isSuppressed || haveAllFailed(part, now)
        }
        if now >= ends { self[part].isOver = true }
    }
}
