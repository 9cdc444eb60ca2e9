import DNSWire
import Racing
import Scheduling

// What a race asks of its sources, and what these say.

extension Flight {
    /// Asks a source for some types.
    ///
    /// - Parameter address: the place of the address in the provider's order.
    func ask(_ place: Int, _ parts: Race.Parts, _ address: Int) {
        guard let number = line.rules.line[place].provider else { return askUpstream(place, parts) }
        if lookUpShared(place, parts, address) { return }
        let member = line.members[number]
        guard member.endpoints.indices.contains(address) else {
            return run(.failed(place, parts))
        }
        let candidate = Candidate(index: member.index, provider: member.provider, endpoint: member.endpoints[address])
        let attempt = ProviderAttempt(candidate, at: place, parts, types(of: parts), began: clock.now)
        attempts.append(attempt)
        attempt.begin(for: self)
    }

    // MARK: Providers

    /// Called with the reply to an attempt.
    func received(_ reply: UpstreamReply, of attempt: ProviderAttempt) {
        attempts.remove(where: { $0 === attempt })
        let filter = policy.lines.providers.filter
        let reply = filter.isEmpty ? reply : filter.admitted(reply, to: key.name)
        var (failed, refused) = (Race.Parts(), Race.Parts())
        var said: (a: Race.Reply?, aaaa: Race.Reply?) = (nil, nil)
        reply.results.forEach { type, result in
            guard let part = part(of: type) else { return }
            if case .failure(let failure) = result {
                self[part].providerFailure = failure
                if failure.refusesAccount { refused = .both }
                if failure.endsProvider { refused.insert(Race.Parts(part)) } else { failed.insert(Race.Parts(part)) }
            } else {
                let reply = take(result, of: attempt, part)
                if part == .a { said.a = reply } else { said.aaaa = reply }
            }
        }
        if said.aaaa == .noData, holdsDenials {
            let place = attempt.place
            held.append(
                clock.schedule(at: began + Translation.longestWait) { [self] in
                    run(.replied(place, a: nil, aaaa: .noData))
                })
            said.aaaa = nil
        }
        if said.a != nil || said.aaaa != nil { run(.replied(attempt.place, a: said.a, aaaa: said.aaaa)) }
        if !refused.isEmpty { run(.refused(attempt.place, refused)) }
        if !failed.isEmpty { run(.failed(attempt.place, failed)) }
    }

    /// Whether "no IPv6 address" waits for the network's prefix: the policy that has it gives the flight up.
    private var holdsDenials: Bool {
        policy.translation == .awaited && policy.translates(.aaaa, key) && clock.now < began + Translation.longestWait
    }

    /// Keeps what a provider has said of a type.
    private func take(_ result: UpstreamResult, of attempt: ProviderAttempt, _ part: Race.Part) -> Race.Reply? {
        let (type, server) = (type(of: part), attempt.candidate.endpoint.name)
        let (answer, said): (Answer, Race.Reply)
        switch result {
        case .answer(let whole):
            answer = admitted(whole, part)
            said = answer.said(type)
            if attempt.candidate.provider.isAuthenticated {
                sharing?.share(whole, type, of: attempt.candidate.index, from: server)
            }
        case .indeterminateEmpty(let ttl):
            answer = .empty(key.name, sent: ttl)
            said = .empty
            self[part].providerFailure = .unusable("empty, for a reason that the service does not give")
        case .failure: return nil
        }
        self[part].found.append(
            FlightLane.Found(
                place: attempt.place, answer: answer, source: .provider(index: attempt.candidate.index),
                server: server))
        return said
    }

    /// What clients may have of a provider's answer.
    private func admitted(_ answer: Answer, _ part: Race.Part) -> Answer {
        let type = type(of: part)
        if line.rules.isGuarded, !answer.isNegative(for: type) {
            // 5.4
            return answer.withoutHints(type, keepsSigned: key.dnssecOK)
                ?? .negative(name: key.name, ttl: Self.madeTTL)
        }
        return type == .aaaa && policy.translates(.aaaa, key) && !answer.hasSignatures
            ? answer.withoutMappedAddresses() : answer
    }

    /// Seconds for which a denial is cached that is made here.
    static var madeTTL: UInt32 { 5 }

    /// Waits for the probes of the providers that are asked as soon as they have answered one.
    func awaitProbes() {
        guard isRunning, clock.now < ends, probeWait == nil,
            line.rules.awaitsProbe
        else { return }
        probeWait = policy.lines.providers.probes.wait(until: ends) { [self] in
            probeWait = nil
            for (place, source) in line.rules.line.enumerated() where source.health == .probed {
                guard let number = source.provider, line.members[number].endpoints.isEmpty else { continue }
                line.members[number].refresh()
                if !line.members[number].endpoints.isEmpty {
                    run(.probed(place, isUp: true))
                } else if !line.members[number].inBackoff.contains(where: \.backoff.isProbing) {
                    run(.probed(place, isUp: false))
                }
            }
            awaitProbes()
        }
    }

    // MARK: The shared cache

    /// Looks among the shared answers, before the first provider is asked.
    ///
    /// - Returns: false when nothing is looked up, and the provider is to be asked at once.
    private func lookUpShared(_ place: Int, _ parts: Race.Parts, _ address: Int) -> Bool {
        switch sharedStep {
        case .over: return false
        case .underWay(let asks):
            sharedStep = .underWay(asks + [SharedAsk(place: place, parts: parts, address: address)])
            return true
        case .before: break
        }
        sharedStep = .over
        guard let shared = policy.lines.shared, case .protect = key.route,
            line.members.contains(where: \.provider.isAuthenticated)
        else { return false }
        // Both families, although one may not be wanted: they are one value.
        sharing = shared.begin(key, types) { [self] found in
            guard case .underWay(let asks) = sharedStep else { return }
            sharedStep = .over
            for ask in asks where isRunning { take(found, for: ask) }
        }
        guard sharing != nil else { return false }
        sharedStep = .underWay([SharedAsk(place: place, parts: parts, address: address)])
        key.note(.ask, "the shared cache is asked for \(types(of: parts).traceText)")
        return true
    }

    /// Takes what was found of what a source was to be asked, and asks it for the rest.
    private func take(_ found: [SharedAnswer], for ask: SharedAsk) {
        var left = ask.parts
        var said: (a: Race.Reply?, aaaa: Race.Reply?) = (nil, nil)
        for answer in found {
            guard let part = part(of: answer.type), left.contains(Race.Parts(part)),
                let reply = take(answer, at: ask.place, part)
            else { continue }
            left.remove(Race.Parts(part))
            if part == .a { said.a = reply } else { said.aaaa = reply }
        }
        if said.a != nil || said.aaaa != nil { run(.replied(ask.place, a: said.a, aaaa: said.aaaa)) }
        if !left.isEmpty, isRunning { self.ask(ask.place, left, ask.address) }
    }

    private func take(_ shared: SharedAnswer, at place: Int, _ part: Race.Part) -> Race.Reply? {
        guard let provider = line.members.first(where: { $0.index == shared.provider })?.provider,
            provider.isAuthenticated
        else { return nil }
        key.note(
            .reply, "the shared cache has \(shared.type), as answered by \(provider.name) (\(shared.server))")
        // What is filtered here may differ from what was where the answer was received.
        let result = policy.lines.providers.filter.admitted(.answer(shared.answer), to: key.name)
        guard case .answer(let answer) = result else { return nil }
        let left = admitted(answer, part)
        self[part].found.append(
            FlightLane.Found(
                place: place, answer: left, source: .shared(index: shared.provider), server: shared.server,
                sharedFor: shared.remaining))
        return left.said(type(of: part))
    }

    // MARK: LocalDNS, and the servers of a `forward` entry

    private func askUpstream(_ place: Int, _ parts: Race.Parts) {
        for type in types(of: parts) {
            guard let part = part(of: type) else { continue }
            key.note(.ask, "\(line.upstream.name) is asked for \(type)")
            let question = UpstreamQuestion(key, [type], until: ends)
            lookUps.append(
                SpawnedWork({ [line] in await line.upstream.ask(question) }) { [self] reply in
                    key.note(.reply, "\(line.upstream.name) (\(reply.server)): \(reply.traceText([type]))")
                    received(reply, of: place, part)
                })
        }
    }

    private func received(_ reply: UpstreamReply, of place: Int, _ part: Race.Part) {
        let type = type(of: part)
        var result = reply.results[type] ?? .failure(.timeout)
        // The forged address of a portal check is what makes the client show the portal.
        if case .protect = key.route { result = policy.lines.providers.filter.admitted(result, to: key.name) }
        var found = FlightLane.Found(
            place: place, answer: Answer(), source: line.upstreamSource, server: reply.server)
        var said = result.said(type)
        switch result {
        case .answer(let answer): found.answer = answer
        case .indeterminateEmpty(let ttl): found.answer = .empty(key.name, sent: ttl)
        case .failure(let failure):
            self[part].localFailure = failure
            guard case .noServer = failure, let answer = withoutLocalDNS(part) else {
                return run(.failed(place, Race.Parts(part)))
            }
            found = FlightLane.Found(place: place, answer: answer, source: .rule, server: "", isStored: false)
            said = answer.said(type)
        }
        if line.rules.trustsLocalDNS {
            self[part].found.append(found)
        } else {
            self[part].local = found
            self[part].localAddresses = AnswerCheck.distinctAddresses(of: found.answer)
            if case .records? = said, type.isAddress { said = .records(self[part].localAddresses.count) }
        }
        run(part == .a ? .replied(place, a: said, aaaa: nil) : .replied(place, a: nil, aaaa: said))
    }

    /// The answer for a name of the local network while there is no LocalDNS server, and no earlier answer of one. Not
    /// cached: the next question may find a server.
    private func withoutLocalDNS(_ part: Race.Part) -> Answer? {
        let question = Question(name: key.name, type: type(of: part))
        guard key.route == .bypass, !self[part].hasAnswer, policy.lastResort.addresses(of: key.name) == nil,
            let answer = policy.localAnswers.withoutLocalDNS(question, policy: policy.routes)
        else { return nil }
        return policy.consistent(answer, for: key)
    }

    // MARK: Checks

    /// 4: another's is thrown away, wherever it is cached.
    private func forget(_ address: IPAddress, _ part: Race.Part) {
        store.forgetForged(address, key, type(of: part))
        if let stale = self[part].stale, store.isOfLocalDNS(stale), stale.holds(address, type(of: part), key.name) {
            forgetStale(part)
        }
    }

    /// What a check needs to be known before clients get their answer.
    private static var reserve: Duration { .milliseconds(50) }

    /// Checks some of LocalDNS's addresses.
    func check(_ part: Race.Part, _ addresses: RaceAnswer.Addresses) {
        guard let check = policy.lines.answerCheck, let server = self[part].local?.server else { return }
        for (place, address) in self[part].localAddresses.enumerated()
        where place < AnswerCheck.addressLimit && addresses.contains(.at(place)) {
            // One that is under way when the race ends is waited for: it may refute what was given unproved.
            let (first, last) = (ends - Self.reserve, clock.now + AddressChecks.longest)
            checks.append(
                SpawnedWork({ [key, clock] in
                    let verdict = await check.verdict(on: address, to: key, from: server, until: first)
                    guard verdict == .unchecked, clock.now < last else { return verdict }
                    return await check.verdict(on: address, to: key, from: server, until: last)
                }) { [self] verdict in
                    key.note(.check, "\(address) \(verdict.traceText)")
                    if Race.Verdict(verdict) == .anothers, !line.rules.isClockWrong { forget(address, part) }
                    // 4: a check that was not made is not remembered, nor what rests on it.
                    if verdict == .unchecked {
                        self[part].hasUnchecked = true
                        if self[part].isGivenUnverified { store.forgetUnverified(key, type(of: part)) }
                    }
                    run(.checked(part, place, Race.Verdict(verdict)))
                })
        }
    }
}

extension Race.Verdict {
    fileprivate init(_ verdict: AddressVerdict) {
        self =
            switch verdict {
            case .verified: .verified
            case .forged, .discredited: .anothers
            case .wrongTime: .wrongTime
            case .unreachable: .unreachable
            case .noTLS, .unclear, .unchecked: .unproved
            }
    }
}

extension Answer {
    /// Seconds for which "this name has no address of that family" is cached at most, when a service gives one TTL for both
    /// families or a long one for an empty family.
    private static var longestEmpty: UInt32 { 300 }

    /// NODATA in place of an empty response, for when the name is known to exist.
    fileprivate static func empty(_ name: Name, sent ttl: UInt32?) -> Answer {
        .negative(name: name, ttl: min(ttl ?? longestEmpty, longestEmpty))
    }
}

extension UpstreamFailure {
    /// Whether nothing else that is asked of the provider would be answered either.
    fileprivate var refusesAccount: Bool {
        switch self {
        case .authentication, .clockSkew: true
        default: false
        }
    }

    /// Whether asking another address of the same provider is pointless.
    fileprivate var endsProvider: Bool {
        switch self {
        case .authentication, .clockSkew, .rejected, .responseCode, .forged, .cancelled: true
        case .timeout, .slow, .noServer, .network, .unusable, .certificate, .busy, .overloaded: false
        }
    }
}
