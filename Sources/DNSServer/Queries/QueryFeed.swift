import Platform
import Scheduling
import Synchronization

/// Tells of every query that was answered, while somebody wants to know.
///
/// Off, it costs a look at a flag for each batch of datagrams. On, UDP threads hand their queries to the loop through a
/// mailbox, and what does not fit is left out and counted: answers go before.
package final class QueryFeed: Sendable {
    /// Queries on their way from the UDP threads to the loop: what the loop writes down in a few milliseconds.
    private static let capacity = 1_024

    private let isOn = Atomic<Bool>(false)
    private let mailbox: Mailbox<AnsweredQuery>
    @Loop private var handler: (@Loop (AnsweredQuery) -> Void)?

    init(on loop: EventLoop) { mailbox = Mailbox(capacity: Self.capacity, on: loop) }

    /// Begins to tell, or ends it.
    package func turn(on isOn: Bool) { self.isOn.store(isOn, ordering: .relaxed) }

    /// Whether queries are to be told of.
    var isWanted: Bool { isOn.load(ordering: .relaxed) }

    /// Names what receives the queries. Once.
    ///
    /// - Parameter missed: called with how many were left out, when there were any.
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

    /// From any thread.
    func post(_ query: AnsweredQuery) { _ = mailbox.post(query) }

    /// From the loop.
    @Loop
    func tell(_ query: AnsweredQuery) { handler?(query) }
}
