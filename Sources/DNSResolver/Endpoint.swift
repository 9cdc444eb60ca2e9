package import Scheduling

/// One address of a provider's service.
@Loop
package protocol Endpoint: AnyObject, Sendable {
    /// The address and port, for logs.
    nonisolated var name: String { get }

    nonisolated var family: AddressFamily { get }

    /// Kept here for the selector; the response time in it is the endpoint's to keep.
    var health: EndpointHealth { get }

    /// Begins one attempt: one request and its reply by the question's deadline.
    ///
    /// Asked for both families together only if its provider answers them so.
    /// - Parameter done: called once, on the loop, never before this returns; not after `cancel()`, which ends the attempt
    ///   at once and harms no other on the same connection.
    func begin(_ question: UpstreamQuestion, done: @escaping @Loop (UpstreamReply) -> Void) -> any Cancellable
}
