package import DNSResolver
package import DNSWire
package import Scheduling

/// The resolver as the server sees it; asked when the cache has no fresh answer.
@Loop
package protocol QueryResponder: AnyObject, Sendable {
    /// Calls `reply` once with the answer to one client's question, within 2.3 s of `arrived`, possibly before this
    /// returns.
    ///
    /// Called once for each waiting client. A client may have received SERVFAIL meanwhile.
    func respond(to question: ClientQuestion, reply: @escaping @Loop (Response) -> Void)

    /// Whether a miss of a client network is near the limit of its misses.
    func isNearBrake(_ question: Question, of network: ClientNetwork) -> Bool

    /// Whether requests for earlier questions already wait for room at a source.
    var isBacklogged: Bool { get }
}
