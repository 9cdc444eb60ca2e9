package import DNSResolver
package import Scheduling

/// What the server asks when the cache has no fresh answer.
@Loop
package protocol QueryResponder: AnyObject, Sendable {
    /// Has `reply` called once with the answer to one client's question, within 2.3 s of `arrived`, also before this
    /// returns.
    ///
    /// Called once for each client that waits. A client may have been told SERVFAIL meanwhile.
    func respond(to question: ClientQuestion, reply: @escaping @Loop (Response) -> Void)

    /// Whether what it was asked already waits for room at a source.
    var isBacklogged: Bool { get }
}
