import Platform
import Scheduling
import Synchronization

/// Passes every answered query to a handler, while queries are logged or have listeners.
///
/// Off, it costs reading a flag for each batch of datagrams. On, UDP threads pass their queries to the loop through a
/// mailbox; queries that do not fit are left out and counted, since answering has priority.
package final class QueryFeed: Sendable {
    /// Queries on their way from the UDP threads to the loop: what the loop logs in a few milliseconds.
    private static let capacity = 1_024

    private let isOn = Atomic<Bool>(false)
    private let mailbox: Mailbox<AnsweredQuery>
    @Loop private var handler: (@Loop (AnsweredQuery) -> Void)?

    init(on loop: EventLoop) { mailbox = Mailbox(capacity: Self.capacity, on: loop) }

    /// Turns the feed on or off.
    package func turn(on isOn: Bool) { self.isOn.store(isOn, ordering: .relaxed) }

    /// Whether queries are to be posted.
    var isWanted: Bool { isOn.load(ordering: .relaxed) }

    /// Sets the handler that receives the queries. Called once.
    ///
    /// - Parameter missed: called with the number of queries that were left out, if any.
    @Loop
    package func receive(
        _ handler: @escaping @Loop (AnsweredQuery) -> Void, missed: @escaping @Loop (Int) -> Void
    ) {
        self.handler = handler
        mailbox.receive { [mailbox] batch in
            for query in batch { handler(query) }
            let count = mailbox.takeRefused()
            if count > 0 { missed(count) }
        }
    }

    /// Posts a query. May be called from any thread.
    func post(_ query: AnsweredQuery) { _ = mailbox.post(query) }

    /// Passes a query to the handler; called on the loop.
    @Loop
    func tell(_ query: AnsweredQuery) { handler?(query) }
}
