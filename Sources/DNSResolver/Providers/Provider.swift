package import DNSWire
package import Scheduling

/// One HTTPDNS service as configured: which names it is asked for, and where.
@Loop
package protocol Provider: AnyObject, Sendable {
    nonisolated var name: String { get }

    /// Whether one call brings A and AAAA together.
    nonisolated var answersBothFamilies: Bool { get }

    /// Whether the service can be asked for records of this type.
    nonisolated func answers(_ type: RecordType) -> Bool

    /// Suffixes that the provider is asked for; empty means every name.
    nonisolated var names: [Name] { get }

    /// Whether answers are authenticated on the path; over plain HTTP they can be forged or replayed.
    nonisolated var isAuthenticated: Bool { get }

    /// How much it is told of clients' addresses; nil: nothing, or the same for all clients.
    nonisolated var clientScoping: ClientScoping? { get }

    /// Where the service is reached, in configured order; may change as its host is looked up again.
    var endpoints: [any Endpoint] { get }

    /// Requests that wait until a connection to the service has room for them.
    var waitingRequests: Int { get }

    /// Why it may not be asked now whatever its addresses are like, in words for people; nil when it may.
    var unavailability: String? { get }

    /// Whether it may be asked beside another provider that is slow; false spares a metered one, which is then asked only
    /// after the others have failed.
    nonisolated var mayHedge: Bool { get }

    /// Backoff of the account: refused credentials. Written by `Probes`.
    var access: Backoff { get set }

    /// Written by the selector.
    var ranking: AddressRanking { get set }
}

extension [any Provider] {
    /// Why none of these could be asked, if so.
    @Loop
    func reasonAgainst(_ indices: [Int]) -> String {
        for index in indices {
            if let reason = self[index].unavailability { return "\(self[index].name): \(reason)" }
        }
        return "every address is in backoff after failures"
    }
}
