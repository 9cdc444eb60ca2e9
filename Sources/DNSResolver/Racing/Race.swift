public import DNSWire

/// The race for one name: which source is asked, when, and what each client gets (Documentation/Strategy.md, whose sections are
/// named here).
///
/// A value: events and times in, effects out. It has no clock and does nothing by itself: what runs it asks the
/// sources, keeps their records, and calls `apply` with `.time` when `wake` has come. Of what may come at the same time,
/// `.time` is the last. After a change (section 7) what runs it begins another one, which ends when this one would have.
public struct Race: Hashable, Sendable {
    private var state: RaceState
    private var waiting = ShortList<Waiter>()

    /// - Parameter ends: when its oldest client must have its answer. Default: 2.3 s after it has joined.
    public init(_ rules: consuming RaceRules, ends: Instant = Instant(nanoseconds: .max)) {
        state = RaceState(rules, ends: ends)
    }

    /// What it goes by; the sources' health as it is now.
    public var rules: RaceRules { state.rules }

    private struct Waiter: Hashable {
        let client: Int
        let part: RacePart
    }

    /// Whether clients wait, or a better answer may come.
    public private(set) var isRunning = false

    /// The same of one type.
    public func isRunning(_ part: RacePart) -> Bool { state.isRunning(part) }

    /// The best that is known of one type by itself.
    public func known(_ part: RacePart, _ now: Instant) -> RaceAnswer? { state.known(part, now) }

    /// When `.time` is due next; nil while nothing is awaited.
    public private(set) var wake: Instant?

    /// The event, then whatever is due at `now`.
    public mutating func apply(_ event: RaceEvent, at now: Instant) -> [RaceEffect] {
        var effects: [RaceEffect] = []
        effects.reserveCapacity(4)
        switch event {
        case .joined(let client, let part): joined(client, part, isLate: false, now, &effects)
        case .joinedLate(let client, let part): joined(client, part, isLate: true, now, &effects)
        case .replied(let place, let replies):
            for part in state.parts {
                guard let reply = replies[part] else { continue }
                if state.line[place].isLocal {
                    localReplied(part, reply, now, &effects)
                } else {
                    replied(place, part, reply)
                }
            }
        case .checked(let part, let address, let verdict): checked(part, .at(address), verdict, now, &effects)
        case .failed(let place, let types): failed(place, types, isWhole: false, now, &effects)
        case .refused(let place, let types): failed(place, types, isWhole: true, now, &effects)
        case .busy(let place, let types): busy(place, types)
        case .probed(let place, let isUp): probed(place, isUp, now, &effects)
        case .timeUp, .time: break
        }
        guard state.began != nil else { return effects }
        // Twice: for what one family needs of the other (section 5).
        for _ in state.parts {
            for part in state.parts {
                resolveEmpty(part, now, &effects)
                seekOther(part, now)
            }
            // The one that yields first: else its first source would wait for a step after LocalDNS, asked for both.
            let first = state.rules.yielding ?? .a
            while askNext(first, now, &effects) {}
            while askNext(first.other, now, &effects) {}
        }
        for _ in state.parts { for part in state.parts { settle(part, now, &effects) } }
        if case .timeUp(let client) = event { timeUp(client, now, &effects) }
        isRunning = state.parts.contains { state.isRunning($0) }
        wake = isRunning ? nextTime(after: now) : nil
        return effects
    }

    /// What the cache had past its TTL is there no longer.
    public mutating func forgetStale(_ part: RacePart) {
        state[part].stale = nil
        if state[part].cached?.rank == .stale { state[part].cached = nil }
    }

    /// What the cache had within its TTL is past it now, or gone.
    public mutating func expire(_ part: RacePart, _ stale: RaceRules.Stale?) {
        (state[part].cached, state[part].stale) = (nil, stale)
    }

    private func nextTime(after now: Instant) -> Instant? {
        guard let began = state.began else { return nil }
        var next: Int64?
        func add(_ time: Int64) { if time > now.nanoseconds { next = min(next ?? time, time) } }
        for wait in [state.rules.staleWait, Strategy.reserve, Strategy.lastAsk + Strategy.milliseconds(1)] {
            add(began.nanoseconds + wait)
        }
        if state.rules.yielding != nil { add(began.nanoseconds + Strategy.step) }
        add(state.ends.nanoseconds)
        for part in state.parts {
            if let last = state[part].lastAsk, state[part].isWanted, !state[part].isOver {
                add(last.nanoseconds + Strategy.step)
            }
            if let verified = state[part].proof.verifiedAt { add(verified.nanoseconds + Strategy.otherAddresses) }
        }
        return next.map { Instant(nanoseconds: $0) }
    }

    // MARK: Clients

    private mutating func joined(
        _ client: Int, _ part: RacePart, isLate: Bool, _ now: Instant, _ effects: inout [RaceEffect]
    ) {
        let isFirst = state.began.map { now <= $0 } ?? true
        if let cached = state[part].cached, state[part].isFresh || state[part].isOver {
            effects.append(.reply(client, part, cached))
            // 2: a question in the last tenth of an answer's life begins a race.
            guard state[part].isFresh, state[part].isEnding, isFirst else { return }
        } else if state[part].isOver || state.began != nil && !isLate && isTooOldToJoin(now) {
            return effects.append(.again(client, part))
        } else {
            waiting.append(Waiter(client: client, part: part))
        }
        state[part].isWanted = true
        if state.began == nil { state.begin(now) }
    }

    /// 2: equal questions share a race until it is 1.9 s old.
    private func isTooOldToJoin(_ now: Instant) -> Bool {
        state.age(now) > Strategy.lastAsk || state.ends.nanoseconds - now.nanoseconds < Strategy.end - Strategy.lastAsk
    }

    /// 3: the best known of ranks 1 to 4, else 6, not remembered.
    private mutating func timeUp(_ client: Int, _ now: Instant, _ effects: inout [RaceEffect]) {
        waiting.forEach { waiter in
            guard waiter.client == client, let best = state.best(waiter.part, now, atOwnEnd: true) else { return }
            effects.append(.reply(client, waiter.part, best))
        }
        waiting.remove { $0.client == client }
    }

    // MARK: What sources say

    private mutating func replied(_ place: Int, _ part: RacePart, _ reply: RaceReply) {
        let status = state.places[place][part].status
        guard status.isThere, !state[part].isOver || !state[part].isWanted else { return }
        let (next, kind): (RaceLane.Status, RaceAnswer.Kind?) =
            switch reply {
            case .records: (.records, .records)
            case .noData: (.denied, .noData)
            case .nxDomain: (.denied, .nxDomain)
            case .empty: (.empty, nil)
            }
        state.places[place][part].status = next
        if let kind {
            if state[part].first == nil { state[part].first = (kind, place) }
        } else {
            state[part].wasEmpty = true
            endProvider(of: place, part)
        }
    }

    private mutating func localReplied(
        _ part: RacePart, _ reply: RaceReply, _ now: Instant, _ effects: inout [RaceEffect]
    ) {
        guard let local = state.local, state.places[local][part].status == .asked else { return }
        let (status, kind): (RaceLane.Status, RaceAnswer.Kind?) =
            switch reply {
            case .records(let count): count > 0 ? (.records, .records) : (.failed, nil)
            case .noData, .empty: (.localNoData, .noData)
            case .nxDomain: (.localNXDomain, .nxDomain)
            }
        state.places[local][part].status = status
        if state.rules.trustsLocalDNS {
            if let kind, state[part].first == nil { state[part].first = (kind, local) }
        } else if case .records(let count) = reply {
            state[part].proof = RaceProof(of: count, by: state.rules, now)
            startChecks(part, &effects)
        }
    }

    private mutating func startChecks(_ part: RacePart, _ effects: inout [RaceEffect]) {
        let next = state[part].proof.startNext()
        if !next.isEmpty { effects.append(.check(part, next)) }
    }

    /// 4: what is another's is thrown away wherever it is, also after the race.
    private mutating func checked(
        _ part: RacePart, _ address: RaceAnswer.Addresses, _ verdict: AddressVerdict, _ now: Instant,
        _ effects: inout [RaceEffect]
    ) {
        let verdict = state.rules.judged(verdict)
        // The other family may wait for it, when this one is over (5).
        let isAwaited = !state[part].isOver || state.isRunning(part.other)
        guard state[part].proof.isChecking(address), isAwaited || verdict == .forged else { return }
        state[part].proof.note(verdict, on: address, now)
        if isAwaited { startChecks(part, &effects) }
        guard verdict == .forged, state[part].proof.verified.isEmpty, let cached = state[part].cached,
            cached.rank == .unproved, cached.kind == .records
        else { return }
        state[part].cached = nil
        effects.append(.drop(part))
    }

    /// 2: at its next address, if it has one.
    private mutating func failed(
        _ place: Int, _ types: RaceParts, isWhole: Bool, _ now: Instant, _ effects: inout [RaceEffect]
    ) {
        var again = RaceParts()
        for part in state.parts where types.contains(RaceParts(part)) {
            let status = state.places[place][part].status
            guard status.isThere || isWhole && status == .unasked else { continue }
            state.places[place][part].status = .failed
            if isWhole { endProvider(of: place, part) }
            guard !isWhole, state.mayAsk(now) else { continue }
            if Int(state.places[place][part].address) + 1 < state.line[place].addresses {
                state.places[place][part].address += 1
                state.places[place][part].status = .asked
                again.insert(RaceParts(part))
            } else if state.line.indices.contains(place + 1),
                state.line[place + 1].provider == state.line[place].provider,
                state.places[place + 1][part].status == .unasked, !state.isDone(part)
            {
                ask(part, place + 1, now, &effects)
            }
        }
        guard !again.isEmpty else { return }
        let part: RacePart = again.contains(.a) ? .a : .aaaa
        let address = state.line[place].firstAddress + Int(state.places[place][part].address)
        effects.append(.ask(place, again, address: address))
    }

    /// What its provider has said once, it would say at its other address.
    private mutating func endProvider(of place: Int, _ part: RacePart) {
        for other in state.line.indices
        where state.line[other].provider == state.line[place].provider && !state.line[place].isLocal {
            if state.places[other][part].status == .unasked { state.places[other][part].status = .failed }
        }
    }

    /// 6: its question is with the service, which sends it again as soon as it can.
    private mutating func busy(_ place: Int, _ types: RaceParts) {
        for part in state.parts where types.contains(RaceParts(part)) && state.places[place][part].status == .asked {
            state.places[place][part].status = .busy
        }
    }

    /// 2: asked as soon as it can be.
    private mutating func probed(_ place: Int, _ isUp: Bool, _ now: Instant, _ effects: inout [RaceEffect]) {
        state.rules.line[place].health = isUp ? .usable : .backoff
        for part in state.parts where state.places[place][part].status == .probed {
            state.places[place][part].status = isUp ? .unasked : .failed
            guard isUp, state.isRunning(part), state.mayAsk(now), !state.isDone(part) else { continue }
            ask(part, place, now, &effects)
        }
    }

    // MARK: What is asked, and when (section 2)

    /// Asks the next source for a type, if its turn has come.
    private mutating func askNext(_ part: RacePart, _ now: Instant, _ effects: inout [RaceEffect]) -> Bool {
        guard state.isRunning(part), state.mayAsk(now) else { return false }
        guard !state.isDone(part) else {
            // 5.3: LocalDNS alone, and at once.
            guard let local = state.searched(part), state.places[local][part].status == .unasked else { return false }
            return ask(part, local, now, &effects)
        }
        if state.yields(part, now) { return false }
        // 2: `localdns-first` waits while addresses are checked.
        if state.rules.mode == .localDNSFirst, state.age(now) < Strategy.reserve,
            state[part].proof.isUnderWay || state[part.other].proof.isUnderWay && state.denial(part) != nil
        {
            return false
        }
        if let last = state[part].lastAsk, now.nanoseconds - last.nanoseconds < Strategy.step,
            state.line.indices.contains(where: { state.isAwaited(part, $0) })
        {
            return false
        }
        let due = state.line.indices.first { place in
            guard state.places[place][part].status == .unasked else { return false }
            // 2: what bills is skipped, until all providers before it failed, or 0.9 s.
            return state.line[place].mayHedge || state.age(now) >= Strategy.reserve
                || state.haveProvidersFailed(part, before: place, now)
        }
        guard let due else { return false }
        return ask(part, due, now, &effects)
    }

    @discardableResult
    private mutating func ask(_ part: RacePart, _ place: Int, _ now: Instant, _ effects: inout [RaceEffect]) -> Bool {
        let status: RaceLane.Status =
            switch state.line[place].health {
            case .usable: .asked
            case .probed: .probed
            case .backoff: .failed
            }
        var types = RaceParts()
        for each in state.parts {
            let isOpenThere = state.places[place][each].status.isOpen
            guard each == part || state.line[place].answersBoth && isOpenThere else { continue }
            types.insert(RaceParts(each))
            // Its own steps begin with what it wants, or when it is asked in its turn.
            let isInTurn = !state.places[..<place].contains { $0[each].status == .unasked }
            if status == .asked, state[each].isWanted || isInTurn { state[each].lastAsk = now }
            state.places[place][each].status = status
        }
        if status == .asked { effects.append(.ask(place, types, address: state.line[place].firstAddress)) }
        return true
    }

    // MARK: What the families need of each other (section 5)

    /// 5.1: NODATA if that provider has addresses of the other family, which it is asked for; else failed.
    private mutating func resolveEmpty(_ part: RacePart, _ now: Instant, _ effects: inout [RaceEffect]) {
        guard state[part].wasEmpty else { return }
        let other = part.other
        for place in state.line.indices where state.places[place][part].status == .empty {
            let provider = state.line[place].provider
            if state.line.indices.contains(where: {
                state.line[$0].provider == provider && state.places[$0][other].status == .records
            }) {
                state.places[place][part].status = .denied
                if state[part].first == nil { state[part].first = (.noData, place) }
            } else if state.places[place][other].status == .unasked, state.mayAsk(now),
                state.line[place].health == .usable,
                state.rules.hasFamilies, !state.isDone(other)
            {
                ask(other, place, now, &effects)
            } else if !state.places[place][other].status.isThere {
                state.places[place][part].status = .failed
            }
        }
    }

    /// 5.2 asks for the other family if it is unknown; one that yields does so from the beginning.
    private mutating func seekOther(_ part: RacePart, _ now: Instant) {
        guard state.rules.hasFamilies, state.isRunning(part), !state[part.other].isWanted, state.mayAsk(now),
            !state[part].isFresh
        else {
            return
        }
        state[part.other].isWanted =
            state.rules.yielding == part
            ? state.known(part.other, now).map { $0.rank > .verified } ?? true
            : state.known(part, now).map { state.needsOther(part, $0) } ?? false && state.known(part.other, now) == nil
    }

    // MARK: What a client gets (section 3)

    /// A better rank replaces a worse one in the cache; every client that waits gets the best.
    private mutating func settle(_ part: RacePart, _ now: Instant, _ effects: inout [RaceEffect]) {
        // What comes with what was wanted is stored as well.
        guard state.isRunning(part) || !state[part].isOver && state.isDone(part) else { return }
        if let best = state.best(part, now) {
            if state[part].cached.map({ best.rank <= $0.rank && best != $0 }) ?? true {
                state[part].cached = best
                effects.append(.store(part, best))
            }
            waiting.forEach { if $0.part == part { effects.append(.reply($0.client, part, best)) } }
            waiting.remove { $0.part == part }
            let isLast = state.rules.mode == .localDNSFirst && best.rank == .verified && !state[part].proof.isUnderWay
            let isSuppressed = best.origin == .suppressed && state[part.other].isOver
            state[part].isOver =
                best.rank == .provider || state[part].first != nil || isLast || isSuppressed
                || state.haveAllFailed(part, now)
        }
        if now >= state.ends { state[part].isOver = true }
    }
}
