import DNSResolver

/// Watches a race from outside, and says which promise is broken.
///
/// It has its own books of what was asked, said, given and stored, and its own numbers, in milliseconds and seconds: it never
/// reads the race.
struct Oracle {
    let world: World
    let line: [World.Source]
    let local: Int?
    private(set) var health: [RaceRules.Health]
    private(set) var began: Int?
    private(set) var end = Int.max
    private(set) var hasChanged = false
    private(set) var a: Seen
    private(set) var aaaa: Seen
    /// The client whose time is just over.
    private var timeUp: Int?
    /// Where a probe was just answered.
    private var risen: [(part: RacePart, place: Int)] = []

    static let parts: [RacePart] = [.a, .aaaa]

    init(_ world: World) {
        self.world = world
        var providers = world.providers
        if providers.count == 1, providers[0].addresses > 1 {
            providers.append(providers[0])
            providers[0].addresses = 1
            providers[1].addresses -= 1
        }
        let localDNS = World.Source(provider: nil, answersBoth: true, health: world.localHealth)
        line =
            switch world.mode {
            case .httpdnsOnly: providers
            case .localDNSFirst, .portal, .localDNSOnly: [localDNS] + providers
            case .httpdnsFirst: providers.prefix(2) + [localDNS] + providers.dropFirst(2)
            }
        local = line.firstIndex { $0.provider == nil }
        health = line.map(\.health)
        a = Seen(
            sources: line.count, stale: world.stale,
            cache: world.cached.map { Seen.Entry(rank: Int($0.rank.rawValue), kind: $0.kind) } ?? .none)
        aaaa = Seen(sources: line.count, stale: nil, cache: .none)
    }

    subscript(part: RacePart) -> Seen {
        _read { if part == .a { yield a } else { yield aaaa } }
        _modify { if part == .a { yield &a } else { yield &aaaa } }
    }

    private func isProvider(_ place: Int) -> Bool { line[place].provider != nil }

    // MARK: What is known

    /// Whether LocalDNS may yet bring rank 2.
    private func isPending(_ part: RacePart) -> Bool {
        guard let local else { return false }
        let (own, other) = (self[part], self[part.other])
        if own.sources[local] == .asked || own.isChecking { return true }
        return own.sources[local].isLocalDenial && !isTwo(part)
            && (other.sources[local] == .asked || other.isChecking)
    }

    private func isTwo(_ part: RacePart) -> Bool {
        guard let local else { return false }
        let own = self[part]
        if own.sources[local].isLocalDenial {
            return own.wasEmpty || self[part.other].isVerified || world.isUnverified && world.mode == .localDNSFirst
        }
        return own.isVerified
    }

    private func hasFailed(_ part: RacePart, _ place: Int, _ now: Int) -> Bool {
        let source = self[part].sources[place]
        if now >= end || source == .failed { return true }
        if source == .unasked, health[place] == .backoff || now - (began ?? now) > 1_900 { return true }
        guard place == local else { return false }
        return (source == .localRecords || source.isLocalDenial) && !isPending(part) && !isTwo(part)
    }

    private func haveAllFailed(_ part: RacePart, _ now: Int) -> Bool {
        line.indices.allSatisfy { hasFailed(part, $0, now) }
    }

    private func haveProvidersFailed(_ part: RacePart, _ now: Int) -> Bool {
        line.indices.allSatisfy { !isProvider($0) || hasFailed(part, $0, now) }
    }

    /// The best rank of 1 to 3 that is known.
    private func best(_ part: RacePart) -> Seen.Entry {
        let own = self[part]
        if let one = own.one { return Seen.Entry(rank: 1, kind: one) }
        if own.cache.rank == 1, !own.isOpen { return own.cache }
        if isTwo(part), let local {
            let isDenied = own.sources[local] == .localNXDomain && !own.wasEmpty && world.mode == .localDNSFirst
            let kind: RaceAnswer.Kind =
                own.sources[local] == .localRecords ? .records : isDenied ? .nxDomain : .noData
            return Seen.Entry(rank: 2, kind: kind)
        }
        if own.cache.rank == 2, !own.isOpen { return own.cache }
        return own.stale.map { Seen.Entry(rank: 3, kind: $0.kind) } ?? .none
    }

    /// Whether the type needs nothing more.
    private func isDone(_ part: RacePart) -> Bool {
        self[part].one != nil || world.mode == .localDNSFirst && isTwo(part)
    }

    // MARK: What happens

    /// Writes an event down; called before the race has it.
    mutating func note(_ event: RaceEvent, at now: Int) {
        (timeUp, risen) = (nil, [])
        switch event {
        case .joined(let client, let part): joined(client, part, now)
        case .joinedLate(let client, let part): joined(client, part, now, isLate: true)
        case .timeUp(let client): timeUp = client
        case .replied(let place, let replies):
            for part in Self.parts { if let reply = replies[part] { replied(place, part, reply, now) } }
        case .checked(let part, let address, let verdict): checked(part, address, verdict, now)
        case .failed(let place, let types): failed(place, types, now)
        case .refused(let place, let types):
            for part in Self.parts where types.contains(RaceParts(part)) {
                if [.asked, .busy, .unasked].contains(self[part].sources[place]) {
                    self[part].sources[place] = .failed
                }
                endProvider(of: place, part)
            }
        case .busy(let place, let types):
            for part in asked(place, types) { self[part].sources[place] = .busy }
        case .probed(let place, let isUp): probed(place, isUp, now)
        case .time: break
        }
        resolveEmpty(now)
    }

    /// What a provider says once it would say at its other address.
    private mutating func endProvider(of place: Int, _ part: RacePart) {
        for other in line.indices where place != local && line[other].provider == line[place].provider {
            if self[part].sources[other] == .unasked { self[part].sources[other] = .failed }
        }
    }

    private func asked(_ place: Int, _ types: RaceParts) -> [RacePart] {
        Self.parts.filter {
            types.contains(RaceParts($0)) && [.asked, .busy].contains(self[$0].sources[place])
        }
    }

    private mutating func joined(_ client: Int, _ part: RacePart, _ now: Int, isLate mayBeLate: Bool = false) {
        // After a change those that wait come again.
        if !self[part].waiting.contains(where: { $0.number == client }) {
            self[part].waiting.append(Seen.Client(number: client, arrived: now))
        }
        let isEnding = part == .a && world.cached?.isEnding ?? false
        let isLate = began.map { !mayBeLate && (now - $0 > 1_900 || end - now < 400) } ?? false
        guard !isLate, !self[part].isOver, self[part].cache.rank > 2 || isEnding && began == nil else { return }
        self[part].isOpen = true
        if began == nil { (began, end) = (now, min(end, now + 2_300)) }
    }

    private mutating func replied(_ place: Int, _ part: RacePart, _ reply: RaceReply, _ now: Int) {
        let kind: RaceAnswer.Kind? =
            switch reply {
            case .records: .records
            case .noData: .noData
            case .nxDomain: .nxDomain
            case .empty: nil
            }
        if place == local, world.mode == .portal || world.mode == .localDNSOnly {
            self[part].one = self[part].one ?? kind
            self[part].sources[place] = kind == .records ? .records : .denied
        } else if place == local {
            localReplied(place, part, reply, now)
        } else if [.asked, .busy].contains(self[part].sources[place]) {
            self[part].sources[place] = kind == nil ? .empty : kind == .records ? .records : .denied
            if kind == nil {
                self[part].wasEmpty = true
                endProvider(of: place, part)
            }
            if !(self[part].isOver && self[part].isOpen || isTheEndOfBoth(part)) {
                self[part].one = self[part].one ?? kind
            }
        }
    }

    private mutating func localReplied(_ place: Int, _ part: RacePart, _ reply: RaceReply, _ now: Int) {
        switch reply {
        case .records(let count):
            self[part].sources[place] = count > 0 ? .localRecords : .failed
            let isFree = world.mode == .localDNSFirst && world.isUnverified
            self[part].verdicts = (0..<count).map {
                isFree ? .verified : world.check == .off || $0 >= 8 ? .unverified : nil
            }
            if isFree { self[part].verifiedAt = now }
        case .nxDomain: self[part].sources[place] = .localNXDomain
        case .noData, .empty: self[part].sources[place] = .localNoData
        }
    }

    private mutating func checked(_ part: RacePart, _ address: Int, _ verdict: AddressVerdict, _ now: Int) {
        self[part].checking.remove(address)
        var verdict = verdict
        if verdict == .wrongTime { verdict = world.isClockWrong ? .verified : .unverified }
        if verdict == .forged, world.isClockWrong, world.isUnlisted { verdict = .unverified }
        self[part].verdicts[address] = verdict
        if verdict == .verified { self[part].verifiedAt = self[part].verifiedAt ?? now }
    }

    private mutating func failed(_ place: Int, _ types: RaceParts, _ now: Int) {
        for part in asked(place, types) {
            let asks = self[part].asks.count { $0.place == place }
            let mayGoOn = asks < line[place].addresses && now - (began ?? now) <= 1_900 && now < end
            if !mayGoOn { self[part].sources[place] = .failed }
        }
    }

    /// 3: with LocalDNS first what is verified is as rank 1: it ends the family, and with it the one that yields to it.
    private func isTheEndOfBoth(_ part: RacePart) -> Bool {
        world.mode == .localDNSFirst && world.yielding == part.other && self[part.other].isOpen
            && self[part].cache.rank == 2 && self[part].cache.kind == .records && !self[part].isChecking
    }

    private mutating func probed(_ place: Int, _ isUp: Bool, _ now: Int) {
        health[place] = isUp ? .usable : .backoff
        for part in Self.parts where self[part].sources[place] == .probed {
            self[part].sources[place] = isUp ? .unasked : .failed
            let isWanted = self[part].isOpen && !self[part].isOver && !isDone(part)
            if isUp, isWanted, now - (began ?? now) <= 1_900, now < end { risen.append((part, place)) }
        }
    }

    /// After another policy, or on another network; with what is known from now on.
    ///
    /// - Returns: those that wait, the oldest first.
    mutating func change(_ rules: RaceRules) -> [(client: Int, part: RacePart)] {
        hasChanged = true
        let clients = Self.parts.flatMap { part in self[part].waiting.map { ($0.number, part, $0.arrived) } }
            .sorted { $0.2 < $1.2 }
        for part in Self.parts {
            let known = part == .a ? rules.a : rules.aaaa
            let cache = known.cached.map { Seen.Entry(rank: Int($0.rank.rawValue), kind: $0.kind) } ?? .none
            var seen = Seen(sources: line.count, stale: known.stale, cache: cache)
            seen.waiting = self[part].waiting
            self[part] = seen
        }
        health = line.map(\.health)
        (began, end) = (nil, clients.first.map { $0.2 + 2_300 } ?? .max)
        return clients.map { ($0.0, $0.1) }
    }

    private mutating func resolveEmpty(_ now: Int) {
        for part in Self.parts {
            for place in line.indices where self[part].sources[place] == .empty {
                let other = self[part.other]
                let knows = line.indices.contains {
                    line[$0].provider == line[place].provider && other.sources[$0] == .records
                }
                if knows {
                    self[part].sources[place] = .denied
                    self[part].one = self[part].one ?? .noData
                } else if ![.asked, .busy].contains(other.sources[place]),
                    other.sources[place] != .unasked || now - (began ?? now) > 1_900 || health[place] != .usable
                        || now >= end || isDone(part.other)
                {
                    self[part].sources[place] = .failed
                }
            }
        }
    }

    // MARK: Promises

    /// The promises that the effects of an event break, and those that do not hold after it.
    mutating func judge(_ effects: [RaceEffect], at now: Int) -> [String] {
        var broken: [String] = []
        for case .ask(let place, let types, let address) in effects {
            broken += asks(place, types, address: address, now)
            resolveEmpty(now)
        }
        for effect in effects {
            switch effect {
            case .ask: break
            case .check(let part, let addresses):
                for place in 0..<9 where addresses.contains(.at(place)) { self[part].checking.insert(place) }
                if self[part].checking.count > 3 { broken.append("4: more than three checks at once") }
                if addresses.contains(.further) { broken.append("4: more than eight addresses are checked") }
            case .reply(let client, let part, let answer): broken += gives(answer, to: client, part, now)
            case .store(let part, let answer): broken += stores(answer, part, now)
            case .drop(let part):
                if self[part].cache.rank <= 2 { broken.append("8: an answer of rank 1 or 2 was dropped") }
                self[part].cache = .none
            case .again(let client, let part):
                if let began, now - began <= 1_900, end - now >= 400, !self[part].isOver {
                    broken.append("2: another race, though this one is not 1.9 s old")
                }
                if began == nil, !self[part].isOver { broken.append("2: another race, though none has begun") }
                self[part].waiting.removeAll { $0.number == client }
            }
        }
        for (part, place) in risen where self[part].sources[place] == .unasked && !self[part].isOver {
            broken.append("2: not asked when its probe was answered")
        }
        return broken + moment(now)
    }

    private mutating func asks(_ place: Int, _ types: RaceParts, address: Int, _ now: Int) -> [String] {
        var broken: [String] = []
        let age = now - (began ?? now)
        let asked = Self.parts.filter { types.contains(RaceParts($0)) }
        if began == nil || age > 1_900 || now >= end { broken.append("7: asked after 1.9 s, or at the end") }
        if health[place] != .usable { broken.append("7: asked while in backoff") }
        if world.mode == .httpdnsOnly, place == local { broken.append("7: httpdns-only asked LocalDNS") }
        if place == local, Self.parts.contains(where: { self[$0].sources[place] == .unasked && !asked.contains($0) }) {
            broken.append("2: LocalDNS was asked for one family")
        }
        if !line[place].answersBoth, asked.count > 1 { broken.append("2: two types to a provider that takes one") }
        if !asked.contains(where: { isInTurn(place, address, $0, age, now) }) {
            broken.append("7: asked out of turn, or after rank 1")
        }
        for part in asked {
            let ask = Seen.Ask(place: place, address: address)
            if self[part].asks.contains(ask) { broken.append("7: a source was asked twice") }
            self[part].asks.append(ask)
            let isBeforeAll = !self[part].sources[..<place].contains(.unasked)
            if self[part].isOpen || isBeforeAll, !isFurther(place, address) { self[part].last = now }
            self[part].sources[place] = .asked
        }
        return broken
    }

    /// Whether it is a source's further address, which has no turn of its own.
    private func isFurther(_ place: Int, _ address: Int) -> Bool {
        address > (isSecond(place) ? 1 : 0)
    }

    /// Whether it is a lone provider's second address.
    private func isSecond(_ place: Int) -> Bool {
        place > 0 && isProvider(place) && line[place - 1].provider == line[place].provider
    }

    private func isInTurn(_ place: Int, _ address: Int, _ part: RacePart, _ age: Int, _ now: Int) -> Bool {
        let (own, other) = (self[part], self[part.other])
        let isSearched = place == local && world.isInSearchDomain && own.one == .nxDomain
        if isSearched { return true }
        let isNext = isFurther(place, address) || isSecond(place) && own.sources[place - 1] == .failed
        if isNext || other.sources[place] == .empty, !isDone(part) { return true }
        guard own.isOpen || other.isOpen, !isDone(part), !isSuppressed(part, age, now) else { return false }
        if world.providers.contains(where: { $0.health == .probed }) || world.localHealth == .probed,
            line[place].health == .probed
        {
            return true
        }
        return isDue(place, part, age, now)
    }

    /// Whether a source's turn has come: no source before it was passed over, and the last ask is 0.3 s ago, or none is awaited.
    private func isDue(_ place: Int, _ part: RacePart, _ age: Int, _ now: Int) -> Bool {
        let own = self[part]
        guard isQuiet(part) || own.last.map({ now - $0 >= 300 }) ?? true else { return false }
        if place != local, age < 900, waitsForChecks(part) { return false }
        guard mayBeAsked(place, part, age, now) else { return false }
        return !(0..<place).contains {
            own.sources[$0] == .unasked && health[$0] == .usable && mayBeAsked($0, part, age, now)
        }
    }

    /// Whether `localdns-first` awaits the checks of LocalDNS's addresses, which also decide about its denial of the other
    /// family.
    private func waitsForChecks(_ part: RacePart) -> Bool {
        guard world.mode == .localDNSFirst, let local else { return false }
        return self[part].isChecking || self[part].sources[local].isLocalDenial && self[part.other].isChecking
    }

    /// Whether it is not asked for yet, or at all, since the other family is preferred.
    private func isSuppressed(_ part: RacePart, _ age: Int, _ now: Int) -> Bool {
        world.yielding == part && (mayBeSuppressed(part, now) && age < 300 || hasAddresses(part.other, now))
    }

    /// Whether the preferred family may yet turn out to have addresses.
    private func mayBeSuppressed(_ part: RacePart, _ now: Int) -> Bool {
        world.yielding == part && !self[part.other].isOver && best(part.other).rank > 2
            && !haveAllFailed(part.other, now)
    }

    /// Whether addresses are known of ranks 1 to 4.
    private func hasAddresses(_ part: RacePart, _ now: Int) -> Bool {
        let best = best(part)
        guard best.rank > 3, haveAllFailed(part, now), local != nil else { return best.kind == .records }
        return world.hasPreset && part == .a
    }

    /// Whether no source is awaited.
    private func isQuiet(_ part: RacePart) -> Bool {
        !line.indices.contains { isProvider($0) && [.asked, .empty].contains(self[part].sources[$0]) }
            && !isPending(part)
    }

    /// Whether what bills is not skipped.
    private func mayBeAsked(_ place: Int, _ part: RacePart, _ age: Int, _ now: Int) -> Bool {
        line[place].mayHedge || age >= 900
            || (0..<place).allSatisfy { !isProvider($0) || hasFailed(part, $0, now) }
    }

    private mutating func gives(_ answer: RaceAnswer, to client: Int, _ part: RacePart, _ now: Int) -> [String] {
        guard let arrived = self[part].waiting.first(where: { $0.number == client })?.arrived else {
            return ["1: answered twice, or after it had left"]
        }
        self[part].waiting.removeAll { $0.number == client }
        let rank = Int(answer.rank.rawValue)
        if world.translates, part == .aaaa, answer.kind != .records, self[part.other].one == .records {
            return ["5.5: AAAA was not made of A"]
        }
        if timeUp == client { return givesAtItsEnd(answer, part, now) }
        let cache = self[part].cache
        if cache.rank <= rank, cache.kind == answer.kind {
            return rank <= 2 || now <= end || self[part].isOver ? [] : ["2: a cached answer after the end"]
        }
        var broken = faults(of: answer, part, now)
        if now - arrived > 2_300 { broken.append("1: answered after 2.3 s") }
        if world.yielding == part, answer.kind == .records, best(part.other).kind == .records, !world.translates {
            broken.append("5: a family was given that the other one suppresses")
        }
        guard !answer.isMade else { return broken }
        if rank > best(part).rank { broken.append("2: a rank was given while a better one is known") }
        if rank > cache.rank { broken.append("2: a rank was given while the cache has a better one") }
        return broken
    }

    /// What a client gets whose own time is over: the best of ranks 1 to 4 that is known, though others wait to take it. All else
    /// only where it is due to everybody.
    private mutating func givesAtItsEnd(_ answer: RaceAnswer, _ part: RacePart, _ now: Int) -> [String] {
        let (own, other) = (best(part), best(part.other))
        let haveFailed = haveAllFailed(part, now) && haveAllFailed(part.other, now)
        let isFive = haveFailed && world.isUnlisted && saysSomething(part)
        let rank = own.rank <= 3 ? own.rank : world.hasPreset ? 4 : isFive ? 5 : 6
        let ends = end
        end = now
        var broken = faults(of: answer, part, now)
        end = ends
        if !answer.isMade, answer.rank.rawValue != rank {
            broken.append("2: rank \(answer.rank) at its end, and \(rank) is the best")
        }
        if answer.isMade, other.rank > 3, !world.hasPreset, !haveFailed {
            broken.append("4: made at its end of what is unverified")
        }
        if world.yielding == part, answer.kind == .records, other.kind == .records, !world.translates {
            broken.append("5: a family was given at its end that the other one suppresses")
        }
        return broken
    }

    /// Whether LocalDNS has an answer that is not known to be forged.
    private func saysSomething(_ part: RacePart) -> Bool {
        guard let source = local.map({ self[part].sources[$0] }) else { return false }
        return source.isLocalDenial || source == .localRecords && !self[part].isForged
    }

    private mutating func stores(_ answer: RaceAnswer, _ part: RacePart, _ now: Int) -> [String] {
        var broken = faults(of: answer, part, now)
        let rank = Int(answer.rank.rawValue)
        if rank > self[part].cache.rank { broken.append("8: a worse rank replaced a better one") }
        if self[part].isOver { broken.append("8: stored after the end") }
        self[part].cache = Seen.Entry(rank: rank, kind: answer.kind)
        return broken
    }

    private func isStaleDue(_ part: RacePart, _ age: Int) -> Bool {
        guard let stale = self[part].stale, stale.kind != .nxDomain else { return false }
        return age >= (stale.isYoung ? 200 : 900)
    }

    /// Why this may not be said, to a client or to the cache, now.
    private func faults(of answer: RaceAnswer, _ part: RacePart, _ now: Int) -> [String] {
        let (own, other, otherBest) = (self[part], self[part.other], best(part.other))
        let (rank, age) = (Int(answer.rank.rawValue), now - (began ?? now))
        let isMade = answer.isMade
        let (isDue, hasFailed) = (isStaleDue(part, age), haveAllFailed(part, now))
        let isSearched = isSearched(answer, part)
        var broken: [String] = []
        func rule(_ isBroken: Bool, _ text: String) { if isBroken { broken.append(text) } }

        rule(rank == 1 && !isMade && own.one == nil, "rank 1 that no source said")
        if !isMade {
            rule(rank == 2 && !isTwo(part), "rank 2 without proof")
            let mayBeTwo =
                world.mode == .localDNSFirst || age >= 900 || isDue || haveProvidersFailed(part, now)
            rule(rank == 2 && !mayBeTwo, "3: rank 2 before 0.9 s")
            rule(rank == 3 && !isDue && !hasFailed, "3: a stale answer too early")
            rule(rank >= 4 && !hasFailed, "3: rank \(rank) while a source has not failed")
        }
        let isBetterElsewhere = otherBest.kind == .records || otherBest == Seen.Entry(rank: 1, kind: .nxDomain)
        rule(
            rank == 5 && !isMade
                && (!world.isUnlisted || own.stale != nil || world.hasPreset || world.mode == .httpdnsOnly
                    || isBetterElsewhere),
            "4: rank 5 for a listed name, or where something better is")
        let isFailure = answer.kind == .serverFailure
        rule(
            isFailure && [.records, .nxDomain].contains(otherBest.kind),
            "5.2: SERVFAIL beside what is known of the other family")
        let hasLocal = local.map { other.sources[$0] == .localRecords } ?? false
        // 5.3: LocalDNS's addresses are given instead.
        let isSearchedBeside = world.isInSearchDomain && other.one == .nxDomain && hasLocal
        rule(
            isMade && answer.kind == .noData && otherBest.kind != .records && !isSearchedBeside
                && !(rank >= 5 && (world.hasPreset || hasLocal)), "5.2: NODATA without addresses of the other family")
        rule(
            isMade && answer.kind == .nxDomain && otherBest.kind != .nxDomain && other.cache.kind != .nxDomain
                && !(local.map { other.sources[$0] == .localNXDomain } ?? false), "5.2: NXDOMAIN that no source said")
        if isFailure, case .nowhere(let isForged) = answer.origin {
            rule(isForged != own.isForged, "EDE 4 and the verdicts differ")
        }
        rule(
            answer.kind == .nxDomain && otherBest.kind == .records, "6: NXDOMAIN beside addresses of the other family")
        rule(
            answer.kind == .records && !isMade && !isDue && mayBeSuppressed(part, now),
            "5: a family that yields was given while the other one is under way")
        if answer.kind == .nxDomain, rank == 1, age < 900, !isDue {
            let isHeard =
                local.map { self.hasFailed(part, $0, now) || own.sources[$0].isLocalDenial } ?? true
            rule(world.isInSearchDomain && !isHeard, "5.3: NXDOMAIN before LocalDNS was heard")
            rule(
                other.isOpen && !other.isOver && otherBest.rank > 2 && !haveAllFailed(part.other, now),
                "5.3: NXDOMAIN while the other family is under way")
        }
        if case .localDNS(let addresses) = answer.origin, !isSearched || !world.isUnlisted {
            broken += faults(of: addresses, own)
        }
        rule(
            !lives(of: answer, isSearched, isMade).contains(answer.life), "8: rank \(rank) lives \(answer.life ?? 0) s")
        return broken
    }

    private func isSearched(_ answer: RaceAnswer, _ part: RacePart) -> Bool {
        guard case .localDNS = answer.origin else { return false }
        return world.isInSearchDomain && self[part].one == .nxDomain && answer.rank == .provider
    }

    private func faults(of addresses: RaceAnswer.Addresses, _ own: Seen) -> [String] {
        let mine = own.verdicts.indices.filter { addresses.contains(.at($0)) }.map { own.verdicts[$0] }
        guard !mine.isEmpty else { return [] }
        var broken: [String] = []
        if mine.contains(.forged) { broken.append("5: another's address") }
        if own.isVerified, mine.contains(where: { $0 != .verified }) {
            broken.append("5: an unverified address beside a verified one")
        }
        if own.isForged, !own.isVerified { broken.append("5: a part of an answer with another's") }
        if !world.isUnlisted, mine.contains(where: { $0 != .verified }) {
            broken.append("5: an unproved address of a listed name")
        }
        return broken
    }

    private func lives(of answer: RaceAnswer, _ isSearched: Bool, _ isMade: Bool) -> [UInt32?] {
        if isMade, answer.origin != .family { return [answer.life] }
        if isMade { return [5] }
        if isSearched { return [30] }
        switch answer.rank {
        case .provider where answer.kind == .nxDomain && world.isInSearchDomain && world.mode != .httpdnsOnly:
            return [30, nil]
        case .provider: return world.mode == .portal ? [10] : [nil]
        case .verified: return world.mode == .localDNSFirst ? [600] : [30]
        case .stale, .failure: return [5]
        case .preset, .unproved: return [30]
        }
    }

    /// What must hold after every event.
    private mutating func moment(_ now: Int) -> [String] {
        guard let began else { return [] }
        let age = now - began
        var broken: [String] = []
        for part in Self.parts {
            let own = self[part]
            if !own.waiting.isEmpty { broken += waits(part, age, now) }
            if own.waiting.contains(where: { $0.number == timeUp }) { broken.append("1: a client waits past its time") }
            guard own.isOpen, !self[part].isOver else { continue }
            if age <= 1_900, now < end, !isDone(part) { broken += missedTurns(part, age, now) }
            if let local, world.isInSearchDomain, own.one == .nxDomain, own.sources[local] == .unasked, age <= 1_900,
                now < end, health[local] == .usable
            {
                broken.append("5.3: LocalDNS was not asked at once")
            }
            self[part].isOver = now >= end || isComplete(part, now)
        }
        return broken
    }

    private func waits(_ part: RacePart, _ age: Int, _ now: Int) -> [String] {
        let (own, best) = (self[part], best(part).rank)
        var broken: [String] = []
        if own.waiting.contains(where: { now - $0.arrived >= 2_300 }) { broken.append("1: a client waits for 2.3 s") }
        if isStaleDue(part, age) { broken.append("1: a client with a stale answer waits") }
        if world.yielding == part, self[part.other].one == .records {
            broken.append("1: a client waits though the other family has addresses")
        }
        if world.yielding == part, own.isOpen, age < 1_900, now < end, self.best(part.other).rank == 3,
            self[part.other].sources.allSatisfy({ $0 == .unasked }),
            line.indices.contains(where: { health[$0] == .usable && mayBeAsked($0, part.other, age, now) })
        {
            broken.append("1: a client waits for the other family, which is not asked for")
        }
        if mayBeSuppressed(part, now), !isStaleDue(part, age) { return broken }
        let mayBeTranslated = world.translates && part == .aaaa && own.one != .records
        if best == 1, own.one != .nxDomain || age >= 900, !mayBeTranslated {
            broken.append("1: a client waits though rank 1 is known")
        }
        let areOthersOver = own.verifiedAt.map { now - $0 >= 300 } ?? true || !own.isChecking
        let mayBeMade = mayBeTranslated && self.best(part).kind != .records
        if best == 2, areOthersOver, !mayBeMade,
            age >= 900 || world.mode == .localDNSFirst || haveProvidersFailed(part, now)
        {
            broken.append("1: a client waits though rank 2 may be taken")
        }
        if best == 3, haveAllFailed(part, now) { broken.append("1: a client waits though all have failed") }
        if own.isOpen, haveAllFailed(part, now), haveAllFailed(part.other, now) {
            broken.append("1: a client waits though all of both families have failed")
        }
        return broken
    }

    private mutating func missedTurns(_ part: RacePart, _ age: Int, _ now: Int) -> [String] {
        let own = self[part]
        guard age >= 900 || !waitsForChecks(part), !isSuppressed(part, age, now) else { return [] }
        let isTime = isQuiet(part) || own.last.map { now - $0 >= 300 } ?? true
        var broken: [String] = []
        for place in line.indices where own.sources[place] == .unasked && mayBeAsked(place, part, age, now) {
            if health[place] == .usable, isTime { broken.append("7: a source was not asked when its turn had come") }
            if health[place] == .probed, isTime || own.sources[(place + 1)...].contains(where: { $0 != .unasked }) {
                self[part].sources[place] = .probed
            }
        }
        return broken
    }

    /// Whether nothing that comes can change what is given.
    private func isComplete(_ part: RacePart, _ now: Int) -> Bool {
        let own = self[part]
        guard own.waiting.isEmpty, own.cache.rank < 7 || world.cached != nil else { return false }
        let mayBeTranslated = world.translates && part == .aaaa && own.one != .records
        if mayBeTranslated, best(part.other).rank > 2, !haveAllFailed(part.other, now) { return false }
        if own.one != nil, own.cache.rank <= 6, own.one != .nxDomain || own.cache.rank <= 3 { return true }
        if world.mode == .localDNSFirst, own.cache.rank == 2, !own.isChecking { return true }
        if world.yielding == part, self[part.other].isOver, best(part.other).kind == .records { return true }
        return haveAllFailed(part, now) && own.cache.rank < 7
    }

    /// What is broken when nothing more happens.
    func atEnd() -> [String] {
        Self.parts.contains { !self[$0].waiting.isEmpty } ? ["1: a client was never answered"] : []
    }
}

extension RaceAnswer {
    /// Whether it is made of what is known of the other family.
    fileprivate var isMade: Bool {
        switch origin {
        case .family, .translation, .suppressed: true
        case .source, .localDNS, .stale, .preset, .cache, .nowhere: false
        }
    }
}

extension Oracle: Hashable {
    static func == (left: Oracle, right: Oracle) -> Bool {
        left.began == right.began && left.end == right.end && left.hasChanged == right.hasChanged
            && left.health == right.health && left.a == right.a && left.aaaa == right.aaaa
    }

    func hash(into hasher: inout Hasher) {
        hasher.combine(began)
        hasher.combine(end)
        hasher.combine(hasChanged)
        hasher.combine(health)
        hasher.combine(a)
        hasher.combine(aaaa)
    }
}
