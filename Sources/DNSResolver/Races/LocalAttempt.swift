import DNSWire
import Scheduling

/// One type's question of a flight to LocalDNS, or to the servers of a `forward` entry, and the checks of the addresses that
/// it brings.
@Loop
struct LocalAttempt {
    /// What a check needs to be known before clients get their answer.
    private static let reserve: Duration = .milliseconds(50)

    let flight: Flight
    /// The source's place in the line.
    let place: Int
    let part: Race.Part

    private var type: RecordType { flight.type(of: part) }

    /// Asks.
    func begin() {
        let (key, upstream) = (flight.key, flight.line.upstream)
        key.note(.ask, "\(upstream.name) is asked for \(type)")
        let question = UpstreamQuestion(key, [type], until: flight.ends)
        flight.lookUps.append(
            SpawnedWork({ await upstream.ask(question) }) { reply in
                key.note(.reply, "\(upstream.name) (\(reply.server)): \(reply.traceText([type]))")
                received(reply)
            })
    }

    private func received(_ reply: UpstreamReply) {
        let lane = flight[part]
        var result = reply.results[type] ?? .failure(.timeout)
        // The forged address of a portal check is what makes the client show the portal.
        if case .protect = flight.key.route {
            result = flight.policy.lines.providers.filter.admitted(result, to: flight.key.name)
        }
        var found = FlightLane.Found(
            place: place, answer: Answer(), source: flight.line.upstreamSource, server: reply.server)
        var said = result.said(type)
        switch result {
        case .answer(let answer): found.answer = answer
        case .indeterminateEmpty(let ttl): found.answer = .empty(flight.key.name, sent: ttl)
        case .failure(let failure):
            lane.localFailure = failure
            guard case .noServer = failure, let answer = withoutLocalDNS else {
                return flight.run(.failed(place, Race.Parts(part)))
            }
            found = FlightLane.Found(answer, isStored: false)
            found.place = place
            said = answer.said(type)
        }
        if flight.line.rules.trustsLocalDNS {
            lane.found.append(found)
        } else {
            lane.local = found
            lane.localAddresses = found.answer.distinctAddresses
            if case .records? = said, type.isAddress { said = .records(lane.localAddresses.count) }
        }
        flight.run(.replied(place, Race.Replies(part, said)))
    }

    /// The answer for a name of the local network while there is no LocalDNS server, and no earlier answer of one. Not
    /// cached: the next question may find a server.
    private var withoutLocalDNS: Answer? {
        let (key, policy) = (flight.key, flight.policy)
        let question = Question(name: key.name, type: type)
        guard key.route == .bypass, !flight[part].hasAnswer, policy.lastResort.addresses(of: key.name) == nil,
            let answer = policy.localAnswers.withoutLocalDNS(question, policy: policy.routes)
        else { return nil }
        return policy.consistent(answer, for: key)
    }

    // MARK: Checks (section 4)

    /// Checks some of LocalDNS's addresses.
    static func check(_ addresses: RaceAnswer.Addresses, of part: Race.Part, for flight: Flight) {
        guard let checks = flight.policy.lines.checks, let server = flight[part].local?.server else { return }
        let (key, clock) = (flight.key, flight.clock)
        // One that is under way when the race ends is waited for: it may refute what was given unproved.
        let end = max(flight.ends - reserve, clock.now + AddressChecks.longest)
        for (place, address) in flight[part].localAddresses.enumerated() where addresses.contains(.at(place)) {
            flight.checks.append(
                checks.check(address, of: key.name, from: server, for: key.holder, until: end) { verdict in
                    key.note(.check, "\(address) \(verdict.traceText)")
                    flight.noteVerdict(verdict, on: address, part)
                    flight.run(.checked(part, place, Race.Verdict(verdict)))
                })
        }
    }
}

extension Answer {
    /// Its addresses, each once.
    fileprivate var distinctAddresses: [IPAddress] {
        var seen: Set<IPAddress> = []
        return addresses.filter { seen.insert($0).inserted }
    }
}

extension Flight {
    fileprivate func noteVerdict(_ verdict: AddressVerdict, on address: IPAddress, _ part: Race.Part) {
        let type = type(of: part)
        if Race.Verdict(verdict) == .anothers, !line.rules.isClockWrong {
            // Another's is thrown away, wherever it is cached.
            store.forgetForged(address, key, type)
            if let stale = self[part].stale, store.isOfLocalDNS(stale), stale.holds(address, type, key.name) {
                forgetStale(part)
            }
        }
        // A check that was not made is not remembered, nor what rests on it.
        if verdict == .unchecked {
            self[part].hasUnchecked = true
            if self[part].isGivenUnverified { store.forgetUnverified(key, type) }
        }
    }
}

extension Race.Verdict {
    fileprivate init(_ verdict: AddressVerdict) {
        self =
            switch verdict {
            case .verified: .verified
            case .forged: .anothers
            case .wrongTime: .wrongTime
            case .unreachable: .unreachable
            case .unverified, .unchecked: .unproved
            }
    }
}
