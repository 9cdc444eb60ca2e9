import DNSResolver
import DNSWire
import Scheduling

/// Stands in for the addresses of a service while its host is looked up for the first time.
///
/// Without it the first questions after a start would find no address and fall to LocalDNS, which may lie.
@Loop
final class BootstrapEndpoint: Endpoint {
    nonisolated let name: String
    nonisolated var family: AddressFamily { .ipv4 }
    let health = AddressHealth()
    private let lookup: ServiceAddresses
    private let first: @Loop () -> (any Endpoint)?

    /// - Parameter first: the endpoint of the first address, once there is one.
    init(host: String, lookup: ServiceAddresses, first: @escaping @Loop () -> (any Endpoint)?) {
        name = "\(host) (being looked up)"
        self.lookup = lookup
        self.first = first
    }

    /// Waits for the look-up, then asks the first address found.
    func begin(_ question: UpstreamQuestion, done: @escaping @Loop (UpstreamReply) -> Void) -> any Cancellable {
        let attempt = BootstrapAttempt()
        attempt.work = SpawnedWork({ [lookup] in await lookup.lookedUp(until: question.deadline) }) { [self, attempt] in
            guard let endpoint = first() else {
                attempt.work = nil
                return done(UpstreamReply(failure: .network("\(name): no address found"), types: question.types))
            }
            attempt.work = endpoint.begin(question, done: done)
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

/// One attempt: the wait for the look-up, then what is asked at the address found.
@Loop
private final class BootstrapAttempt: Cancellable {
    var work: (any Cancellable)?

    func cancel() { work.take()?.cancel() }
}
