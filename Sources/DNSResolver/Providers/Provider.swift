package import DNSWire
package import Scheduling

/// One HTTPDNS service as configured: for which names it is asked, and at which addresses.
@Loop
package protocol Provider: AnyObject, Sendable {
    nonisolated var name: String { get }

    /// Whether one call returns A and AAAA together.
    nonisolated var answersBothFamilies: Bool { get }

    /// Whether the service can be asked for records of this type.
    nonisolated func answers(_ type: RecordType) -> Bool

    /// Suffixes for which the provider is asked; empty means every name.
    nonisolated var names: [Name] { get }

    /// Whether answers are authenticated on the path; over plain HTTP they can be forged or replayed.
    nonisolated var isAuthenticated: Bool { get }

    /// The most of clients' addresses that it is sent; nil: nothing, or the same for all clients.
    nonisolated var clientScoping: ClientScoping? { get }

    /// The addresses of the service, in configured order; may change when its host is looked up again.
    var endpoints: [any Endpoint] { get }

    /// Requests that wait for a free slot on a connection to the service.
    var waitingRequests: Int { get }

    /// Why it may not be asked now whatever the state of its addresses, in words for users; nil when it may.
    var unavailability: String? { get }

    /// How many of its calls one client network may have caused since half of a limit was spent; `.max` while none is half
    /// spent, nil without a limit.
    var callShare: Int? { get }

    /// Called when a question does not ask it because of its `unavailability`.
    func leftOut()

    /// Whether it may be asked beside another provider that is slow; false avoids the cost of a metered one, which is
    /// then asked only after the others have failed, or after 0.9 s (Documentation/Strategy.md).
    nonisolated var mayHedge: Bool { get }

    /// Backoff of the account: refused credentials. Written by `Probes`.
    var access: Backoff { get set }

    /// Written by the requests of each question.
    var ranking: AddressRanking { get set }
}
