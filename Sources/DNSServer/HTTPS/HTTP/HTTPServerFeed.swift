import Scheduling

/// The body of a response without an end: a part at once, and one at each interval, unless the client has yet to receive the
/// one before. An object: few responses have one.
package final class HTTPServerFeed: Sendable {
    /// How long after one part the next is made.
    package let interval: Duration
    /// Whether the connection stays for as long as the client reads nothing. Else it is closed as one that reads no other
    /// response.
    package let isPatient: Bool
    /// Called when the client has received a piece of a part.
    package let wasRead: @Loop @Sendable () -> Void
    /// Makes the next part; empty: there is nothing to send; nil: there are no more.
    package let next: @Loop @Sendable () -> String?

    package init(
        every interval: Duration, isPatient: Bool, wasRead: @escaping @Loop @Sendable () -> Void = {},
        next: @escaping @Loop @Sendable () -> String?
    ) {
        self.interval = interval
        self.isPatient = isPatient
        self.wasRead = wasRead
        self.next = next
    }
}
