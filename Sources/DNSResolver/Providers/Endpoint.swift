package import Scheduling

/// One address of a provider's service.
@Loop
package protocol Endpoint: AnyObject, Sendable {
    /// The address and port, for logs.
    nonisolated var name: String { get }

    nonisolated var family: AddressFamily { get }

    /// Written by the selector and its probes; the response time in it by the endpoint.
    var health: AddressHealth { get }

    /// Begins one attempt: one request and its reply by the question's deadline.
    ///
    /// Asked for both families together only if its provider answers them so.
    /// - Parameter done: called once, on the loop, never before this returns; not after `cancel()`, which ends the attempt
    ///   at once and harms no other on the same connection.
    func begin(_ question: UpstreamQuestion, done: @escaping @Loop (UpstreamReply) -> Void) -> any Cancellable

    /// Asks a name of the daemon's own choice on a connection made for it; once it is answered, that connection replaces
    /// the others.
    ///
    /// - Parameters:
    ///   - deadline: when it ends at the latest; the provider's own timeout ends it earlier.
    ///   - done: called once, on the loop, never before this returns; not after `cancel()`.
    func probe(until deadline: Instant, done: @escaping @Loop (UpstreamReply) -> Void) -> any Cancellable

    /// Sends no further request on the connections that there are: the address is in backoff.
    func retireConnections()
}
