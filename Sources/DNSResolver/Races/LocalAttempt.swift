import DNSWire

/// One type's question of a flight to LocalDNS, or to the servers of a `forward` entry, and the checks of the addresses that
/// it brings.
@Loop
struct LocalAttempt {
    /// What a check needs to be known before clients get their answer.
    private static let reserve: Duration = .milliseconds(50)

    let answers: FlightAnswers
    let place: Int
    let part: RacePart

    private var type: RecordType { answers.type(of: part) }

    /// Asks. Calls `done` once, with the event for the race; not after the question was cancelled.
    func begin(done: @escaping @Loop (RaceEvent) -> Void) -> any Cancellable {
        let (key, upstream) = (answers.key, answers.line.upstream)
        key.trace.note(.ask, "\(upstream.name) is asked for \(type)")
        let question = UpstreamQuestion(key, [type], until: answers.ends)
        return upstream.begin(question, delayed: {}) { reply in
            key.trace.note(.reply, "\(upstream.name) (\(reply.server)): \(reply.traceText([type]))")
            done(received(reply))
        }
    }

    private func received(_ reply: UpstreamReply) -> RaceEvent {
        var result = reply.results[type] ?? .failure(.timeout)
        // The forged address of a portal check is what makes the client show the portal.
        if case .protect = answers.key.route {
            result = answers.policy.lines.filter.admitted(result, type, to: answers.key)
        }
        var found = FlightLane.Found(
            place: place, answer: Answer(), source: answers.line.upstreamSource, server: reply.server)
        switch result {
        case .answer(let answer): found.answer = answer
        case .indeterminateEmpty(let ttl): found.answer = .empty(answers.key.name, sent: ttl)
        case .failure(let failure):
            answers[part].localFailure = failure
            guard case .noServer = failure, let answer = withoutLocalDNS else {
                return .failed(place, RaceParts(part))
            }
            found = FlightLane.Found(answer, isStored: false)
            found.place = place
        }
        var said = found.answer.said(type)
        if answers.race.rules.trustsLocalDNS {
            answers[part].found.append(found)
        } else {
            answers[part].local = found
            answers[part].localAddresses = found.answer.distinctAddresses
            if case .records = said, type.isAddress { said = .records(answers[part].localAddresses.count) }
        }
        return .replied(place, RaceReplies(part, said))
    }

    /// The answer for a name of the local network while there is no LocalDNS server, and no earlier answer of one. Not
    /// cached: the next question may find a server.
    private var withoutLocalDNS: Answer? {
        let (key, policy) = (answers.key, answers.policy)
        let question = Question(name: key.name, type: type)
        guard key.route == .bypass, !answers[part].hasAnswer, policy.lastResort.addresses(of: key.name) == nil,
            let answer = policy.localAnswers.withoutLocalDNS(question, policy: policy.routes)
        else { return nil }
        return policy.consistent(answer, for: key)
    }

    // MARK: Checks (section 4)

    /// Checks some of LocalDNS's addresses: `verdict` gets the place of each, the address, and what was shown.
    static func check(
        _ addresses: RaceAnswer.Addresses, of part: RacePart, for answers: FlightAnswers,
        verdict: @escaping @Loop (Int, IPAddress, AddressVerdict) -> Void
    ) -> [any Cancellable] {
        guard let server = answers[part].local?.server else { return [] }
        let (key, checks) = (answers.key, answers.policy.lines.checks)
        // One that is under way when the race ends is waited for: it may refute what was given unproved.
        let end = max(answers.ends - reserve, answers.clock.now + AddressChecks.longest)
        return answers[part].localAddresses.enumerated().filter { addresses.contains(.at($0.offset)) }
            .map { place, address in
                checks.check(address, of: key.name, from: server, for: key.holder, until: end) { found in
                    key.trace.note(.check, "\(address) \(found.traceText)")
                    verdict(place, address, found)
                }
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
