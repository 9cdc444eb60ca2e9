import DNSWire
import Scheduling

/// One request of a flight at an address of a provider.
@Loop
final class ProviderAttempt {
    /// What a reply says for the race.
    struct Said {
        var replies = RaceReplies()
        /// What it says when the prefix of the network is not known by then.
        var later: (replies: RaceReplies, time: Instant)?
        /// The types for which the address has failed, and for which the provider has.
        var failed = RaceParts()
        var refused = RaceParts()
    }

    private let answers: FlightAnswers
    /// The source's place in the line.
    private let place: Int
    private let candidate: Candidate
    private let began: Instant
    private let types: [RecordType]
    /// When it will have been silent for so long that its address is suspect; nil: that was said.
    private(set) var silenceDue: Instant?
    /// While it may be under way.
    private var request: (any Cancellable)?

    init(_ candidate: Candidate, for answers: FlightAnswers, at place: Int, _ parts: RaceParts) {
        self.answers = answers
        self.place = place
        self.candidate = candidate
        types = answers.types(of: parts)
        began = answers.clock.now
        silenceDue = began + candidate.endpoint.silence
    }

    /// Begins it.
    ///
    /// - Parameters:
    ///   - delayed: called when the service has said "not so fast".
    ///   - done: called once, with what `received` takes; not after `giveUp()`.
    func begin(delayed: @escaping @Loop () -> Void, done: @escaping @Loop (UpstreamReply) -> Void) {
        candidate.endpoint.health.began()
        answers.key.note(.ask, "\(candidate.text) is asked for \(types.traceText)")
        let question = UpstreamQuestion(answers.key, types, until: answers.ends)
        request = candidate.endpoint.begin(question, delayed: delayed, done: done)
    }

    /// Has its address probed if that has been silent for too long. The request stays: one name may be slow.
    func noteSilence(at now: Instant) {
        guard let due = silenceDue, due <= now else { return }
        silenceDue = nil
        probes.suspect(candidate, since: began)
    }

    /// Cancels it. An address that is slower than another one, or than LocalDNS, is judged by that.
    func giveUp() {
        guard let request = request.take() else { return }
        answers.key.note(.reply, "\(candidate.text) is given up after \((answers.clock.now - began).traceText)")
        request.cancel()
        probes.note(UpstreamReply(failure: .cancelled, types: types), from: candidate, began: began)
    }

    private var probes: Probes { answers.policy.lines.providers.probes }

    // MARK: The reply

    /// Keeps what the provider has said.
    ///
    /// - Parameter turn: shares it.
    func received(_ reply: UpstreamReply, sharing turn: SharedTurn?) -> Said {
        request = nil
        answers.key.note(
            .reply, "\(candidate.text) after \((answers.clock.now - began).traceText): \(reply.traceText(types))")
        probes.note(reply, from: candidate, began: began)
        let filter = answers.policy.lines.providers.filter
        let results = filter.isEmpty ? reply.results : filter.admitted(reply, to: answers.key.name).results
        var said = Said()
        for (type, result) in results {
            guard let part = answers.part(of: type) else { continue }
            guard case .failure(let failure) = result else {
                said.replies[part] = take(result, part, sharing: turn)
                continue
            }
            answers[part].providerFailure = failure
            if failure.refusesAccount { said.refused = .both }
            if failure.endsProvider {
                said.refused.insert(RaceParts(part))
            } else {
                said.failed.insert(RaceParts(part))
            }
        }
        if said.replies[.aaaa] == .noData, let end = answers.endOfWaitForPrefix {
            said.later = (RaceReplies(.aaaa, .noData), end)
            said.replies[.aaaa] = nil
        }
        return said
    }

    /// Keeps what the provider has said of a type.
    private func take(_ result: UpstreamResult, _ part: RacePart, sharing turn: SharedTurn?) -> RaceReply? {
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
        case .authentication, .clockSkew, .refused, .rejected, .responseCode, .forged, .cancelled: true
        case .timeout, .slow, .noServer, .network, .unusable, .certificate, .busy, .overloaded: false
        }
    }
}
