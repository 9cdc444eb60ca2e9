import DNSWire

// What Documentation/Strategy.md promises a client, by its sections, with its numbers as literals. Which source is asked
// when, and how long answers are used within their limits, is left to the program, of which nothing is known here.

extension JudgedReply {
    /// The promises that this reply breaks. Of an attacker's own names an answer in time is promised, and nothing more.
    var broken: [String] {
        let late = waited > max(.zero, .milliseconds(2_300) - client.lateness)
        let faults = form + check(("time: after more than 2.3 s", late))
        return client.isAttacker ? faults : faults + (madeHere ?? wrong + neglected + forgotten)
    }

    private func check(_ faults: (text: String, isThere: Bool)...) -> [String] {
        faults.filter(\.isThere).map(\.text)
    }

    /// A reply is about its question, and says why there is nothing.
    private var form: [String] {
        let isEmpty = reply.answers.isEmpty
        let isAbout = reply.answers.allSatisfy { $0.name == client.question.name && $0.type == type }
        return check(
            ("form: an unknown code", ![.noError, .nameError, .serverFailure].contains(reply.responseCode)),
            ("form: records of another name or type", !isAbout),
            ("form: an error with records", !isEmpty && reply.responseCode != .noError),
            ("form: a denial without an SOA", isEmpty && !isFailure && reply.denial == nil),
            ("form: SERVFAIL without a cause", isFailure && reply.error == nil))
    }

    /// 1: of an entry of `preset.always`, and of a family that no client gets; nil for other names.
    private var madeHere: [String]? {
        let isNoError = reply.responseCode == .noError
        if let preset = reign.preset(of: name, among: reign.policy.presets) {
            let isGiven = type.isAddress && preset.types.contains(type)
            let own = isGiven ? [preset.address(.preset, policy: reign.number)] : []
            let isOwn = isNoError && !reply.isStale && addresses == own && reply.answers.count == own.count
            return check(("preset: another answer", !isOwn))
        }
        guard reign.excludes(type), !client.isSigned else { return nil }
        return check(("families: \(type) is given", !isNoError || !reply.answers.isEmpty))
    }

    // MARK: Never a wrong address

    /// An answer is one response of one source, or made here with a reason.
    private var wrong: [String] {
        if isFailure { return [] }
        if isMadeHere { return check(("rule: a denial without a reason", !isFounded)) }
        if isLastResort, let lastResort {
            let own = lastResort.address(.lastResort, policy: reign.number)
            return check(("last resort: another address", !lastResort.types.contains(type) || addresses != [own]))
        }
        let origins = origins
        guard let last = origins.first else { return ["origin: no source has answered this"] }
        return origins.contains { faults(of: $0).isEmpty } ? [] : faults(of: last)
    }

    /// The promises of sections 1, 3 to 5 and 7 that giving a source's response breaks.
    private func faults(of telling: Chronicle.Telling) -> [String] {
        let before = chronicle.reigns[telling.asked.policy]
        let isFromBefore = telling.asked.policy != chronicle.epoch.policy
        let isEqual = telling.name == name && telling.type == type && hasRightFlags(telling)
        let mayAnswer = [reign, before].allSatisfy { $0.mayAnswer(telling.giver, name, type, plan) }
        let isMoved = before.route(of: name).isProtected != route.isProtected
        return check(
            ("origin: the answer to another question", !isEqual),
            ("origin: for the network \(telling.network ?? "none")", telling.network != scope.network),
            ("origin: a source that is not in force", !mayAnswer || isMoved),
            ("change: LocalDNS's, of another policy", isOfLocalDNS && route.isProtected && isFromBefore),
            ("change: asked before one, and answered after it", telling.asked != telling.answered),
            ("change: of another network", !reply.isStale && telling.answered.network != chronicle.epoch.network),
            ("change: it was flushed", chronicle.isFlushed(name, since: telling.flightBegan, before: client)),
            ("rank: unverified before a preset", isUnverified && lastResort != nil && !isOfNetwork(telling)),
            ("hints: of a protected name, or changed", type == .https && !hasRightHints(telling))
        ) + aged(telling) + unverified(telling)
    }

    /// 3: how long an answer lives, from when it is taken: once it is checked, within 2.3 s; stale in another race.
    private func aged(_ telling: Chronicle.Telling) -> [String] {
        let before = chronicle.reigns[telling.asked.policy]
        var life = before.lifetime(telling.ttl, isDenial: telling.result != .records)
        if isOfLocalDNS, !providers.isEmpty { life = min(life, reign.asksLocalDNSFirst ? 600 : 30) }
        let taken = telling.at + .milliseconds(reply.isStale ? 4_600 : 2_300)
        let age = UInt32(clamping: (now - taken).components.seconds)
        let code: ExtendedError.Code = reply.responseCode == .nameError ? .staleNXDomainAnswer : .staleAnswer
        return reply.isStale
            ? check(
                ("stale: without saying so", reply.error?.code != code || reply.ttl > 30),
                ("stale: after \(age) s of \(life)", age > life + reign.staleTime(life)))
            : check(
                ("age: fresh after \(age) s of \(life)", age >= max(life, 1)),
                ("age: TTL \(reply.ttl) after \(age) s of \(life)", reply.ttl + age > life))
    }

    /// 4: what certificates show of LocalDNS's addresses; a handshake of 30 ms ends in time.
    private func unverified(_ telling: Chronicle.Telling) -> [String] {
        let rule = reign.check(of: name)
        guard isOfLocalDNS, route.isProtected, rule != .off, !isOfNetwork(telling) else { return [] }
        let kinds = addresses.compactMap { $0?.kind }
        let isMixed = kinds.contains(.honest) && !kinds.allSatisfy(\.isHonest)
        let hasTime = telling.at <= telling.flightBegan + .milliseconds(2_000)
        let known = reply.answers.compactMap(\.address).compactMap { chronicle.caught[$0] }.filter {
            $0.network == chronicle.epoch.network && now - $0.at < .seconds(300)
        }
        return check(
            ("certificate: an address that is known to be another's", !known.isEmpty),
            ("certificate: an unverified answer for a listed name", rule == .strict && isUnverified),
            ("certificate: an address that shows another's certificate", hasTime && kinds.contains(.hijacker)),
            ("certificate: a verified address among others", hasTime && isMixed))
    }

    /// 5: whether a source has given the reason for a denial that is made here, or a preset of last resort has.
    private var isFounded: Bool {
        let own = chronicle.tellings.filter { $0.name == name }
        if reply.responseCode == .nameError {
            return type.isAddress && own.contains { $0.type.isAddress && $0.result == .nameError }
        }
        return lastResort != nil || type == .https && route.isProtected && reign.policy.guardsServiceBindings
            || own.contains { telling in
                guard telling.network == scope.network else { return false }
                if telling.type == type { return telling.result == .empty }
                return type.isAddress && telling.type.isAddress && telling.result == .records
            }
    }

    // MARK: Always an answer

    /// What has worked for 10 s answers.
    private var neglected: [String] {
        // One that has waited, or whose race began again, may have no time left.
        guard isUndisturbed, client.lateness == .zero else { return [] }
        switch route {
        case .bypass: return check(("neglect: of LocalDNS", hasNone && isWell(.localDNS(reign.policy.localDNS))))
        case .forward(_, let number): return check(("neglect: of forward", hasNone && isWell(.forwarder(number))))
        case .protect where !type.isAddress:
            return check(("neglect: SERVFAIL for HTTPS", isFailure && reign.policy.guardsServiceBindings))
        case .protect: break
        }
        let time = providersTime ?? .seconds(10)
        let isLate = time < .milliseconds(1_900) && waited > time + .milliseconds(300)
        return check(
            ("neglect: a provider answers within \(time)", isBefore(time)),
            // 3: at once; 5: a denial waits for the other family, or for LocalDNS.
            ("slow: a provider answers within \(time)", !reply.answers.isEmpty && !reign.mayBeLocal(name) && isLate),
            ("neglect: of LocalDNS's addresses", hasNone && isGivenByLocalDNS))
    }

    /// 3: whether a provider's answer that comes by then goes before what was given, the best known when any may be taken.
    private func isBefore(_ time: Duration) -> Bool {
        let due = mayBeStale ? min(.milliseconds(900), reign.staleWait) : .milliseconds(900)
        if hasNone || reply.isStale { return time < (hasNone ? .milliseconds(1_900) : due) }
        guard reign.asksLocalDNSLater, isOfLocalDNS, !reign.mayBeLocal(name) else { return false }
        // Of an earlier race it lives for 30 s.
        let isOfEarlier = origins.contains { $0.flightBegan < client.at && client.at - $0.flightBegan < .seconds(33) }
        return !isOfEarlier && time < (isUnverified ? .milliseconds(1_900) : due)
    }

    /// 2: how long after the question a provider that works has answered; nil where none does. LocalDNS is the third source.
    private var providersTime: Duration? {
        let first: Duration = reign.asksLocalDNSFirst ? .milliseconds(900) : .zero
        // Not asked for at first beside the family that is preferred.
        let other: Duration = reign.yields(type) ? .milliseconds(300) : .zero
        let all = providers.map { number in servers.filter { $0.giver == .provider(number) } }
        // 1: of a provider that is alone the other address is in the line, unless it is not asked again what one has said.
        let isAlone = all.count == 1 && all[0].allSatisfy { $0.conduct.leavesOthers && isSteady($0, .seconds(10)) }
        let apart = isAlone && !hasJoined ? all[0].filter { client.usable.contains($0.index) }.map { [$0] } : []
        return (all + apart).enumerated().compactMap { index, own -> Duration? in
            let times = own.map { usualTime(of: $0) }
            guard !times.contains(nil), let time = times.compactMap(\.self).max() else { return nil }
            let place = isAlone ? min(index, 1) : index < 2 ? index : index + 1
            let bills = !plan.providers[providers[isAlone ? 0 : index]].mayHedge && (index > 0 || other > .zero)
            return first + other + time + max(.milliseconds(300) * place, .milliseconds(bills ? 900 : 0))
        }.min()
    }

    /// 6: how long a server takes that is not in backoff. That is no longer than 30 s, and ends with a probe of 0.9 s.
    private func usualTime(of server: SimulatedServer) -> Duration? {
        let delay = server.conduct.delay
        guard answers(server, within: .milliseconds(999)) else { return nil }
        if client.usable.contains(server.index) { return delay }
        return delay < .milliseconds(900) && isSteady(server, .seconds(35)) ? delay * 2 : nil
    }

    /// Whether LocalDNS gives addresses that may be taken when all providers fail.
    private var isGivenByLocalDNS: Bool {
        let giver = SimulatedAddress.Giver.localDNS(reign.policy.localDNS)
        let kinds = servers.filter { $0.giver == giver && $0.conduct.reply == .addresses }.flatMap(\.conduct.addresses)
        guard reign.asksLocalDNS, isWell(giver), !kinds.isEmpty else { return false }
        return switch reign.check(of: name) {
        case .off: isFailure
        case .strict: kinds.contains(.honest)
        case .lenient: kinds.contains(.honest) || isFailure && !kinds.contains(where: \.isHijacker)
        }
    }

    private func isWell(_ giver: SimulatedAddress.Giver) -> Bool {
        servers.allSatisfy { $0.giver != giver || answers($0, within: .milliseconds(100)) }
    }

    private func answers(_ server: SimulatedServer, within time: Duration) -> Bool {
        server.conduct.answers && server.conduct.delay <= time && isSteady(server, .seconds(10))
    }

    /// 3: what a provider has said goes, for an hour after its TTL, before nothing, and before what is unverified.
    private var forgotten: [String] {
        guard type.isAddress, !reply.isStale, hasNone || isUnverified, reign.hasStale, !reign.yields(type),
            let last = lastAnswer, case .provider = last.giver, last.result == .records,
            last.at < client.at, last.asked == last.answered, last.asked.policy == chronicle.epoch.policy
        else { return [] }
        let life = Int64(reign.lifetime(last.ttl, isDenial: false))
        let isThere = life > 0 && now - last.at < .seconds(life + 3_590)
        return check(("neglect: of a provider's answer", isThere && !chronicle.mayBeFlushed(name, since: last.at)))
    }
}

extension Chronicle {
    /// No waste (2): the questions to sources that break a promise.
    func waste(_ plan: SimulationPlan) -> [String] {
        asks.indices.filter { asks[$0].name >= 0 && !asks[$0].isAttackers }.flatMap { index -> [String] in
            let (ask, reign) = (asks[index], reigns[asks[index].epoch.policy])
            let like = asks[..<index].filter { $0.isLike(ask) }
            let again = like.filter {
                $0.server == ask.server && $0.isUnderWay(at: ask.at) && !Set($0.types).isDisjoint(with: ask.types)
            }
            // Equal questions share a race until it is 1.9 s old, or flushed; 7: one with its whole time none that has less.
            let isTwice = again.contains { other in
                ask.at <= min(other.flightBegan, ask.flightBegan) + .milliseconds(1_900)
                    && [other, ask].allSatisfy(hasWholeTime) && !mayBeFlushed(ask.name, since: other.at, until: ask.at)
            }
            return [
                !reign.mayBeAsked(ask, plan) ? "asked: a source that is not to be asked, \(ask)" : nil,
                isTwice ? "waste: asked twice at the same time, \(again), then \(ask)" : nil,
                isBesideOthers(ask, like, plan) ? "waste: a metered provider beside a slow one, \(ask)" : nil,
            ].compactMap(\.self)
        }
    }

    /// What bills is skipped, unless first, until all providers before it failed, or 0.9 s.
    private func isBesideOthers(_ ask: Ask, _ like: [Ask], _ plan: SimulationPlan) -> Bool {
        guard case .provider(let number) = ask.giver, !plan.providers[number].mayHedge else { return false }
        let all = reigns[ask.epoch.policy].providers(for: ask.name, ask.types[0], isSigned: ask.isSigned, in: plan)
        let before = all.prefix { $0 != number }
        let areAwaited = before.allSatisfy { number in
            let own = like.filter { $0.giver == .provider(number) && $0.flightBegan == ask.flightBegan }
            return !own.isEmpty && own.allSatisfy { $0.isUnderWay(at: ask.at) }
        }
        return !before.isEmpty && areAwaited && ask.at < ask.flightBegan + .milliseconds(900)
    }
}
