import DNSWire
import Scheduling

/// One request of a flight at an address of a provider.
@Loop
final class ProviderAttempt {
    private let flight: Flight
    /// The source's place in the line.
    private let place: Int
    private let candidate: Candidate
    private let began: Instant
    private let parts: Race.Parts
    private let types: [RecordType]
    /// When it will have been silent for so long that its address is suspect; nil: that was said.
    private(set) var silenceDue: Instant?
    /// While it may be under way.
    private var request: (any Cancellable)?

    /// - Parameter address: the place of the address in the provider's order.
    private init(_ candidate: Candidate, for flight: Flight, at place: Int, _ parts: Race.Parts) {
        self.flight = flight
        self.place = place
        self.candidate = candidate
        self.parts = parts
        types = flight.types(of: parts)
        began = flight.clock.now
        silenceDue = began + candidate.endpoint.silence
    }

    /// Begins one for a flight, which holds it until it is over.
    ///
    /// - Parameters:
    ///   - number: of the provider, in the line.
    ///   - place: the source's place in the line.
    ///   - address: the place of the address in the provider's order.
    static func begin(for flight: Flight, _ number: Int, at place: Int, _ parts: Race.Parts, address: Int) {
        let member = flight.line.members[number]
        guard member.endpoints.indices.contains(address) else { return flight.run(.failed(place, parts)) }
        let candidate = Candidate(index: member.index, provider: member.provider, endpoint: member.endpoints[address])
        let attempt = ProviderAttempt(candidate, for: flight, at: place, parts)
        flight.attempts.append(attempt)
        attempt.begin()
    }

    private func begin() {
        candidate.endpoint.health.began()
        flight.key.note(.ask, "\(candidate.text) is asked for \(types.traceText)")
        let question = UpstreamQuestion(flight.key, types, until: flight.ends)
        request = candidate.endpoint.begin(question, delayed: { [self] in flight.run(.busy(place, parts)) }) {
            [self] reply in
            request = nil
            flight.key.note(
                .reply, "\(candidate.text) after \((flight.clock.now - began).traceText): \(reply.traceText(types))")
            flight.policy.lines.providers.probes.note(reply, from: candidate, began: began)
            flight.attempts.remove(where: { $0 === self })
            let filter = flight.policy.lines.providers.filter
            if filter.isEmpty { received(reply) } else { received(filter.admitted(reply, to: flight.key.name)) }
        }
    }

    /// Has its address probed if that has been silent for too long. The request stays: one name may be slow.
    func noteSilence(at now: Instant) {
        guard let due = silenceDue, due <= now else { return }
        silenceDue = nil
        flight.policy.lines.providers.probes.suspect(candidate, since: began)
    }

    /// Cancels it. An address that is slower than another one, or than LocalDNS, is judged by that.
    func giveUp() {
        guard let request = request.take() else { return }
        flight.key.note(.reply, "\(candidate.text) is given up after \((flight.clock.now - began).traceText)")
        request.cancel()
        flight.policy.lines.providers.probes.note(
            UpstreamReply(failure: .cancelled, types: types), from: candidate, began: began)
    }

    // MARK: The reply

    private func received(_ reply: UpstreamReply) {
        var (failed, refused) = (Race.Parts(), Race.Parts())
        var said = Race.Replies()
        for (type, result) in reply.results {
            guard let part = flight.part(of: type) else { continue }
            guard case .failure(let failure) = result else {
                said[part] = take(result, part)
                continue
            }
            flight[part].providerFailure = failure
            if failure.refusesAccount { refused = .both }
            if failure.endsProvider { refused.insert(Race.Parts(part)) } else { failed.insert(Race.Parts(part)) }
        }
        if said[.aaaa] == .noData, let end = flight.endOfWaitForPrefix {
            flight.tell(.replied(place, Race.Replies(.aaaa, .noData)), at: end)
            said[.aaaa] = nil
        }
        if !said.isEmpty { flight.run(.replied(place, said)) }
        if !refused.isEmpty { flight.run(.refused(place, refused)) }
        if !failed.isEmpty { flight.run(.failed(place, failed)) }
    }

    /// Keeps what the provider has said of a type.
    private func take(_ result: UpstreamResult, _ part: Race.Part) -> Race.Reply? {
        let (type, server) = (flight.type(of: part), candidate.endpoint.name)
        let (answer, said): (Answer, Race.Reply)
        switch result {
        case .answer(let whole):
            answer = flight.admitted(whole, part)
            said = answer.said(type)
            if candidate.provider.isAuthenticated, case .turn(let turn) = flight.shared {
                turn.share(whole, type, of: candidate.index, from: server)
            }
        case .indeterminateEmpty(let ttl):
            answer = .empty(flight.key.name, sent: ttl)
            said = .empty
            flight[part].providerFailure = .unusable("empty, for a reason that the service does not give")
        case .failure: return nil
        }
        flight[part].found.append(
            FlightLane.Found(
                place: place, answer: answer, source: .provider(index: candidate.index), server: server))
        return said
    }
}

extension Flight {
    /// When "no IPv6 address" is passed on at the latest, while the network's prefix is awaited: the policy that has it gives
    /// the flight up.
    fileprivate var endOfWaitForPrefix: Instant? {
        let end = began + Translation.longestWait
        return policy.translation == .awaited && policy.translates(.aaaa, key) && clock.now < end ? end : nil
    }

    /// What clients may have of a provider's answer.
    func admitted(_ answer: Answer, _ part: Race.Part) -> Answer {
        let type = type(of: part)
        if line.rules.isGuarded, !answer.isNegative(for: type) {
            // 5.4
            return answer.withoutHints(type, keepsSigned: key.dnssecOK)
                ?? .negative(name: key.name, ttl: Flight.madeTTL)
        }
        return type == .aaaa && policy.translates(.aaaa, key) && !answer.hasSignatures
            ? answer.withoutMappedAddresses() : answer
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
