import DNSResolver
import DNSWire
import Scheduling

/// The endpoint of a service whose host is being looked up for the first time.
///
/// Without it the first queries after a start would find no address and fall back to LocalDNS, which may be hijacked.
@Loop
final class BootstrapEndpoint: Endpoint {
    nonisolated let name: String
    nonisolated var family: AddressFamily { .ipv4 }
    let health = AddressHealth()
    private let lookup: HostAddresses
    private let first: @Loop () -> (any Endpoint)?

    /// - Parameter first: returns the endpoint of the first address, nil before there is one.
    init(host: String, lookup: HostAddresses, first: @escaping @Loop () -> (any Endpoint)?) {
        name = "\(host) (being looked up)"
        self.lookup = lookup
        self.first = first
    }

    func begin(
        _ question: UpstreamQuestion, delayed: @escaping @Loop () -> Void,
        done: @escaping @Loop (UpstreamReply) -> Void
    ) -> any Cancellable {
        lookedUp(by: question.deadline, question.types, done) { $0.begin(question, delayed: delayed, done: done) }
    }

    func probe(until deadline: Instant, done: @escaping @Loop (UpstreamReply) -> Void) -> any Cancellable {
        lookedUp(by: deadline, [.a], done) { $0.probe(until: deadline, done: done) }
    }

    /// Waits for the look-up, then asks at the first address found.
    private func lookedUp(
        by deadline: Instant, _ types: [RecordType], _ done: @escaping @Loop (UpstreamReply) -> Void,
        _ begin: @escaping @Loop (any Endpoint) -> any Cancellable
    ) -> any Cancellable {
        let attempt = CurrentWork()
        attempt.work = SpawnedWork({ [lookup] in await lookup.lookedUp(until: deadline) }) { [self] in
            attempt.work = first().map(begin)
            guard attempt.work == nil else { return }
            done(UpstreamReply(failure: .network("\(name): no address found"), types: types))
        }
        return attempt
    }

    func retireConnections() {}
}

/// What is under way of work that has several parts, one after the other.
@Loop
final class CurrentWork: Cancellable {
    var work: (any Cancellable)?

    func cancel() { work.take()?.cancel() }
}

extension UpstreamFailure {
    /// Whether the service has replied, perhaps with an error because of the name.
    var isRefusal: Bool {
        switch self {
        case .unusable, .refused, .authentication, .clockSkew: true
        case .timeout, .slow, .noServer, .network, .certificate, .forged, .busy, .responseCode, .rejected, .overloaded,
            .cancelled:
            false
        }
    }
}
