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

/// The endpoint of a service whose host is being looked up for the first time.
///
/// Without it the first queries after a start would find no address and fall back to LocalDNS, which may be hijacked.
@Loop
final class BootstrapEndpoint: Endpoint {
    nonisolated let name: String
    nonisolated var family: AddressFamily { .ipv4 }
    let health = AddressHealth()
    fileprivate let lookup: HostAddresses
    fileprivate let first: @Loop () -> (any Endpoint)?

    /// - Parameter first: returns the endpoint of the first address, nil before there is one.
    init(host: String, lookup: HostAddresses, first: @escaping @Loop () -> (any Endpoint)?) {
        name = "\(host) (being looked up)"
        self.lookup = lookup
        self.first = first
    }

    /// Waits for the look-up, then sends the query to the first address found.
    func begin(
        _ question: UpstreamQuestion, delayed: @escaping @Loop () -> Void,
        done: @escaping @Loop (UpstreamReply) -> Void
    ) -> any Cancellable {
        BootstrapAttempt(until: question.deadline, at: self, types: question.types, done) { endpoint, done in
            endpoint.begin(question, delayed: delayed, done: done)
        }
    }

    /// Probes the first address found.
    func probe(until deadline: Instant, done: @escaping @Loop (UpstreamReply) -> Void) -> any Cancellable {
        BootstrapAttempt(until: deadline, at: self, types: [.a], done) { $0.probe(until: deadline, done: $1) }
    }

    func retireConnections() {}
}

/// One attempt: the wait for the look-up, then the query or probe at the address found.
@Loop
private final class BootstrapAttempt: Cancellable {
    typealias Done = @Loop (UpstreamReply) -> Void

    private var work: (any Cancellable)?

    init(
        until deadline: Instant, at bootstrap: BootstrapEndpoint, types: [RecordType], _ done: @escaping Done,
        _ begin: @escaping @Loop (any Endpoint, @escaping Done) -> any Cancellable
    ) {
        let lookup = bootstrap.lookup
        work = SpawnedWork({ await lookup.lookedUp(until: deadline) }) { [self] in
            guard let endpoint = bootstrap.first() else {
                work = nil
                return done(UpstreamReply(failure: .network("\(bootstrap.name): no address found"), types: types))
            }
            work = begin(endpoint, done)
        }
    }

    func cancel() { work.take()?.cancel() }
}
