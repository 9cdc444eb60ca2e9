import DNSResolver
import DNSWire
import Scheduling

/// The probe of one address: a query of the daemon's own, on a new connection.
///
/// A private service may refuse all names but its own. So if it refuses the neutral name, a name that was answered here
/// before is queried too; an answer to either shows that the address works. A client has chosen the second name: that
/// it has no answer shows nothing.
@Loop
final class HTTPDNSProbe: Cancellable {
    private let neutral: Name
    private let answered: Name?
    private let deadline: Instant
    private let send: Ask
    private let done: @Loop (UpstreamReply) -> Void
    private var attempt: (any Cancellable)?

    /// Sends a question to the address on a new connection.
    typealias Ask = @Loop (UpstreamQuestion, @escaping @Loop (UpstreamReply) -> Void) -> any Cancellable

    /// - Parameters:
    ///   - neutral: the name that is queried first.
    ///   - answered: a name that was answered here before; nil: none is known.
    ///   - done: called once with the reply; not after `cancel()`.
    init(
        neutral: Name, answered: Name?, until deadline: Instant, ask: @escaping Ask,
        done: @escaping @Loop (UpstreamReply) -> Void
    ) {
        self.neutral = neutral
        self.answered = answered
        self.deadline = deadline
        send = ask
        self.done = done
    }

    func begin() {
        ask(neutral) { [self] reply in
            guard let answered, answered != neutral, let failure = reply.failure, failure.isRefusal else {
                return done(reply)
            }
            ask(answered) { [done] second in done(second.failure == nil ? second : reply) }
        }
    }

    private func ask(_ name: Name, _ done: @escaping @Loop (UpstreamReply) -> Void) {
        let question = UpstreamQuestion(name: name, types: [.a], deadline: deadline)
        attempt = send(question) { [self] reply in
            attempt = nil
            done(reply)
        }
    }

    func cancel() { attempt.take()?.cancel() }
}

extension UpstreamFailure {
    /// Whether the service has replied, perhaps with an error because of the name.
    fileprivate var isRefusal: Bool {
        switch self {
        case .unusable, .refused, .authentication, .clockSkew: true
        case .timeout, .slow, .noServer, .network, .certificate, .forged, .busy, .responseCode, .rejected, .overloaded,
            .cancelled:
            false
        }
    }
}
