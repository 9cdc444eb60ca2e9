import DNSWire

/// One request of a flight at an address of a provider.
@Loop
final class ProviderAttempt {
    private let answers: FlightAnswers
    private let place: Int
    private let candidate: Candidate
    private let began: Instant
    private let parts: RaceParts
    private let types: [RecordType]
    /// Shares what the provider says; nil: nothing does.
    private let turn: SharedTurn?
    /// Called with what the race is to hear.
    private let tell: @Loop (RaceEvent) -> Void
    /// When it will have been silent for so long that its address is suspect; nil: that was said.
    private(set) var silenceDue: Instant?
    /// While it may be under way.
    private var request: (any Cancellable)?
    /// What the race is to hear later.
    private var held: LoopTimer?

    init(
        _ candidate: Candidate, for answers: FlightAnswers, at place: Int, _ parts: RaceParts,
        sharing turn: SharedTurn?, tell: @escaping @Loop (RaceEvent) -> Void
    ) {
        self.parts = parts
        self.turn = turn
        self.tell = tell
        self.answers = answers
        self.place = place
        self.candidate = candidate
        types = answers.types(of: parts)
        began = answers.clock.now
        silenceDue = began + candidate.endpoint.silence
    }

    func begin() {
        candidate.endpoint.health.began()
        answers.key.trace.note(.ask, "\(candidate.text) is asked for \(types.traceText)")
        let question = UpstreamQuestion(answers.key, types, until: answers.ends)
        // Both refer to this object alone, which takes no memory.
        request = candidate.endpoint.begin(question, delayed: { [self] in tell(.busy(place, parts)) }) {
            [self] in received($0)
        }
    }

    /// Has its address probed if that has been silent for too long. The request stays: one name may be slow.
    func noteSilence(at now: Instant) {
        guard let due = silenceDue, due <= now else { return }
        silenceDue = nil
        probes.suspect(candidate, since: began)
    }

    /// Cancels it. An address that is slower than another one, or than LocalDNS, is judged by that.
    func giveUp() {
        held.take()?.cancel()
        guard let request = request.take() else { return }
        answers.key.trace.note(.reply, "\(candidate.text) is given up after \((answers.clock.now - began).traceText)")
        request.cancel()
        probes.note(UpstreamReply(failure: .cancelled, types: types), from: candidate, began: began)
    }

    private var probes: Probes { answers.policy.lines.probes }

    // MARK: The reply

    private func received(_ reply: UpstreamReply) {
        (request, silenceDue) = (nil, nil)
        answers.key.trace.note(
            .reply, "\(candidate.text) after \((answers.clock.now - began).traceText): \(reply.traceText(types))")
        probes.note(reply, from: candidate, began: began)
        take(reply)
    }

    /// Keeps what the provider has said.
    private func take(_ reply: UpstreamReply) {
        var (failed, refused) = (RaceParts(), RaceParts())
        var said = RaceReplies()
        for (type, whole) in reply.results {
            guard let part = answers.part(of: type) else { continue }
            let result = answers.policy.lines.filter.admitted(whole, type, to: answers.key)
            guard case .failure(let failure) = result else {
                said[part] = take(result, part)
                continue
            }
            answers[part].providerFailure = failure
            if failure.isAccessRefused { refused = .both }
            if failure.endsProvider { refused.insert(RaceParts(part)) } else { failed.insert(RaceParts(part)) }
        }
        if said[.aaaa] == .noData, let end = answers.endOfWaitForPrefix {
            held = answers.clock.schedule(at: end) { [self] in
                tell(.replied(place, RaceReplies(.aaaa, .noData)))
            }
            said[.aaaa] = nil
        }
        if !said.isEmpty { tell(.replied(place, said)) }
        if !refused.isEmpty { tell(.refused(place, refused)) }
        if !failed.isEmpty { tell(.failed(place, failed)) }
    }

    private func take(_ result: UpstreamResult, _ part: RacePart) -> RaceReply? {
        let (type, server) = (answers.type(of: part), candidate.endpoint.name)
        let (answer, said): (Answer, RaceReply)
        switch result {
        case .answer(let whole):
            answer = answers.admitted(whole, part)
            said = answer.said(type)
            if candidate.provider.isAuthenticated {
                turn?.share(whole, type, of: candidate.index, from: server)
            }
        case .indeterminateEmpty(let ttl):
            answer = .empty(answers.key.name, sent: ttl)
            said = .empty
            answers[part].providerFailure = .unusable("empty, for a reason that the service does not give")
        case .failure: return nil
        }
        answers[part].found.append(
            FlightLane.Found(
                place: place, answer: answer, source: .provider(index: candidate.index), server: server))
        return said
    }
}

extension FlightAnswers {
    /// When "no IPv6 address" is passed on at the latest, while the network's prefix is awaited: the policy that has it gives
    /// the flight up.
    fileprivate var endOfWaitForPrefix: Instant? {
        let end = began + Translation.longestWait
        return policy.translation == .awaited && policy.translates(.aaaa, key) && clock.now < end ? end : nil
    }
}

extension Answer {
    /// Seconds for which "this name has no address of that family" is cached at most, when a service gives one TTL for both
    /// families or a long one for an empty family.
    private static var longestEmpty: UInt32 { 300 }

    /// NODATA in place of an empty response, for when the name is known to exist.
    static func empty(_ name: Name, sent ttl: UInt32?) -> Answer {
        .negative(name: name, ttl: min(ttl ?? longestEmpty, longestEmpty))
    }
}

extension UpstreamFailure {
    /// Whether asking another address of the same provider is pointless.
    fileprivate var endsProvider: Bool {
        switch self {
        case .authentication, .clockSkew, .refused, .rejected, .responseCode, .forged, .cancelled: true
        case .timeout, .slow, .noServer, .network, .unusable, .certificate, .busy, .overloaded: false
        }
    }
}
