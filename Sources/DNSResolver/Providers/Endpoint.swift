package import Scheduling

/// One address of a provider's service.
@Loop
package protocol Endpoint: AnyObject, Sendable {
    /// The address and port, for logs.
    nonisolated var name: String { get }

    nonisolated var family: AddressFamily { get }

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

extension Endpoint {
    package nonisolated var silence: Duration { .milliseconds(900) }

    package var pace: Int? { nil }
}
