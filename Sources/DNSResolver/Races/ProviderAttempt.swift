import DNSWire
import Racing
import Scheduling

/// One request at an address of a provider.
@Loop
final class ProviderAttempt {
    /// The source's place in the line.
    let place: Int
    let candidate: Candidate
    let began: Instant
    private let parts: Race.Parts
    private let types: [RecordType]
    /// When it will have been silent for so long that its address is suspect; nil: that was said.
    private(set) var silenceDue: Instant?
    /// While it may be under way.
    private var request: (any Cancellable)?

    init(_ candidate: Candidate, at place: Int, _ parts: Race.Parts, _ types: [RecordType], began: Instant) {
        self.place = place
        self.candidate = candidate
        self.parts = parts
        self.types = types
        self.began = began
        silenceDue = began + candidate.endpoint.silence
    }

    /// Begins it for a flight, which gets its reply.
    func begin(for flight: Flight) {
        candidate.endpoint.health.began()
        flight.key.note(.ask, "\(candidate.text) is asked for \(types.traceText)")
        let question = UpstreamQuestion(flight.key, types, until: flight.ends)
        request = candidate.endpoint.begin(question, delayed: { [place, parts] in flight.run(.busy(place, parts)) }) {
            [self] reply in
            request = nil
            flight.key.note(
                .reply, "\(candidate.text) after \((flight.clock.now - began).traceText): \(reply.traceText(types))")
            flight.policy.lines.providers.probes.note(reply, from: candidate, began: began)
            flight.received(reply, of: self)
        }
    }

    /// Has its address probed if that has been silent for too long. The request stays: one name may be slow.
    func noteSilence(at now: Instant, to probes: Probes) {
        guard let due = silenceDue, due <= now else { return }
        silenceDue = nil
        probes.suspect(candidate, since: began)
    }

    /// Cancels it. An address that is slower than another one, or than LocalDNS, is judged by that.
    func giveUp(for flight: Flight) {
        guard let request = request.take() else { return }
        flight.key.note(.reply, "\(candidate.text) is given up after \((flight.clock.now - began).traceText)")
        request.cancel()
        flight.policy.lines.providers.probes.note(
            UpstreamReply(failure: .cancelled, types: types), from: candidate, began: began)
    }
}
