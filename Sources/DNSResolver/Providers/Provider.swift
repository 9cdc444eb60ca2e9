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

    /// Whether a question can forbid the service to validate (CD); by default where it has signatures.
    nonisolated var takesCheckingDisabled: Bool { get }

    /// Suffixes for which the provider is asked; empty means every name.
    nonisolated var names: [Name] { get }

    /// Whether answers are authenticated on the path; over plain HTTP they can be forged or replayed.
    nonisolated var isAuthenticated: Bool { get }

    /// The most of clients' addresses that it is sent; nil: nothing, or the same for all clients.
    nonisolated var clientScoping: ClientScoping? { get }

    /// The addresses of the service, in the order in which they are asked; may change when its host is looked up again.
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
}

/// One address of a provider's service.
@Loop
package protocol Endpoint: AnyObject, Sendable {
    /// The address and port, for logs.
    nonisolated var name: String { get }

    /// Written by the selector and its probes; its response time by the endpoint.
    var health: AddressHealth { get }

    /// Begins one attempt: one request and its reply by the question's deadline.
    ///
    /// Asked for both families together only if its provider answers them together.
    ///
    /// - Parameters:
    ///   - delayed: called when it waits, since the service has said "not so fast"; never before this returns.
    ///   - done: called once, on the loop, never before this returns; not after `cancel()`, which ends the
    ///     attempt at once and does not affect others on the same connection.
    func begin(
        _ question: UpstreamQuestion, delayed: @escaping @Loop () -> Void,
        done: @escaping @Loop (UpstreamReply) -> Void
    ) -> any Cancellable

    /// Asks for a name of the daemon's own choice on a connection made for it; once it is answered, that connection
    /// replaces the others.
    ///
    /// - Parameters:
    ///   - deadline: when it ends at the latest; the provider's own timeout ends it earlier.
    ///   - done: called once, on the loop, never before this returns; not after `cancel()`.
    func probe(until deadline: Instant, done: @escaping @Loop (UpstreamReply) -> Void) -> any Cancellable

    /// How long a question may have no answer before the address is suspect.
    nonisolated var silence: Duration { get }

    /// Sends no further request on the existing connections: the address is in backoff.
    func retireConnections()

    /// The most requests at once that it is sent, since it has said "not so fast"; nil: as many as there are.
    var pace: Int? { get }
}

extension Provider {
    package nonisolated var takesCheckingDisabled: Bool { answers(.rrsig) }
}

extension Endpoint {
    package nonisolated var silence: Duration { .milliseconds(900) }

    package var pace: Int? { nil }
}

/// An address of a provider that may be asked for a question.
@Loop
struct Candidate {
    /// The index of the provider, from 0.
    let index: Int
    let provider: any Provider
    let endpoint: any Endpoint

    /// For operators.
    var text: String { "\(provider.name) at \(endpoint.name)" }

    /// Whether neither the address nor the provider's account is in backoff.
    var isUsable: Bool { endpoint.health.isUsable && !provider.access.isActive && provider.unavailability == nil }

    /// Whether a successful probe would make it usable.
    var isInBackoff: Bool {
        (!endpoint.health.isUsable || provider.access.isActive) && provider.unavailability == nil
    }

    /// The backoff because of which it cannot be asked: the address's, else the account's.
    var backoff: Backoff { endpoint.health.isUsable ? provider.access : endpoint.health.backoff }
}

extension Provider {
    /// Whether it may be asked for this name.
    package nonisolated func serves(_ name: Name) -> Bool {
        names.isEmpty || names.contains { name.isWithin($0) }
    }
}
