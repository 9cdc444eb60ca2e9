import DNSResolver
import Scheduling

/// Stands in for the addresses of a service while its host is looked up for the first time.
///
/// Without it the first questions after a start would find no address and fall to LocalDNS, which may lie.
@Loop
final class BootstrapEndpoint: Endpoint {
    nonisolated let name: String
    nonisolated var family: AddressFamily { .ipv4 }
    var health = EndpointHealth()
    private let lookup: ServiceAddresses
    private let first: @Loop () -> (any Endpoint)?

    /// - Parameter first: the endpoint of the first address, once there is one.
    init(host: String, lookup: ServiceAddresses, first: @escaping @Loop () -> (any Endpoint)?) {
        name = "\(host) (being looked up)"
        self.lookup = lookup
        self.first = first
    }

    func begin(_ question: UpstreamQuestion, done: @escaping @Loop (UpstreamReply) -> Void) -> any Cancellable {
        SpawnedWork({ [self] in await ask(question) }, done: done)
    }

    /// Waits for the look-up, then asks the first address found.
    func ask(_ question: UpstreamQuestion) async -> UpstreamReply {
        await lookup.lookedUp(until: question.deadline)
        guard !Task.isCancelled else { return UpstreamReply(failure: .cancelled, types: question.types) }
        guard let endpoint = first() else {
            return UpstreamReply(failure: .network("\(name): no address found"), types: question.types)
        }
        return await endpoint.ask(question)
    }
}
