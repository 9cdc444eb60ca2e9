package import DNSResolver
package import Scheduling

/// What the server asks when the cache has no fresh answer.
@Loop
package protocol QueryResponder: AnyObject, Sendable {
    /// The answer to one client's question; always returns within 2.3 s of `arrived`.
    ///
    /// Called once for each client that waits. The task is cancelled when the client has been told SERVFAIL meanwhile.
    func respond(to question: ClientQuestion) async -> Response
}
