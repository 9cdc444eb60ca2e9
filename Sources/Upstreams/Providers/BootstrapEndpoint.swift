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

    /// Waits for the look-up, then sends the query to the first address found.
    func begin(
        _ question: UpstreamQuestion, delayed: @escaping @Loop () -> Void,
        done: @escaping @Loop (UpstreamReply) -> Void
    ) -> any Cancellable {
        let attempt = BootstrapAttempt()
        attempt.work = SpawnedWork({ [lookup] in await lookup.lookedUp(until: question.deadline) }) { [self, attempt] in
            guard let endpoint = first() else {
                attempt.work = nil
                return done(UpstreamReply(failure: .network("\(name): no address found"), types: question.types))
            }
            attempt.work = endpoint.begin(question, delayed: delayed, done: done)
        }
        return attempt
    }

    /// Probes the first address found.
    func probe(until deadline: Instant, done: @escaping @Loop (UpstreamReply) -> Void) -> any Cancellable {
        let attempt = BootstrapAttempt()
        attempt.work = SpawnedWork({ [lookup] in await lookup.lookedUp(until: deadline) }) { [self, attempt] in
            guard let endpoint = first() else {
                attempt.work = nil
                return done(UpstreamReply(failure: .network("\(name): no address found"), types: [.a]))
            }
            attempt.work = endpoint.probe(until: deadline, done: done)
        }
        return attempt
    }

    func retireConnections() {}
}

/// One attempt: the wait for the look-up, then the query or probe at the address found.
@Loop
private final class BootstrapAttempt: Cancellable {
    var work: (any Cancellable)?

    func cancel() { work.take()?.cancel() }
}
