import DNSWire
import Platform
import Scheduling
import Synchronization

/// Counts the queries of clients that are refused for one reason, and reports them to the log: at once, and then at most
/// once a second, so that a flood of them costs the loop nothing.
final class RefusedClients: Sendable {
    private static let interval: Duration = .seconds(1)

    private let number = Atomic<Int>(0)
    /// Whether a query was reported within the interval.
    private let isReported = Atomic<Bool>(false)
    private let report = Mutex<(@Sendable (IPAddress) -> Void)?>(nil)

    /// Queries since the start.
    var count: Int { number.load(ordering: .relaxed) }

    /// Counts a query. May be called from any thread.
    func add(_ client: IPAddress) {
        number.wrappingAdd(1, ordering: .relaxed)
        guard !isReported.load(ordering: .relaxed), !isReported.exchange(true, ordering: .relaxed) else { return }
        report.withLock { $0 }?(client)
    }

    /// Reports to `events` from now on.
    ///
    /// - Parameter text: of a client, and of how many queries were refused.
    func report(
        to events: EventLog, clock: any LoopClock, text: @escaping @Sendable (IPAddress, Int) -> String
    ) {
        report.withLock {
            $0 = { [weak self] client in
                Loop.spawn {
                    guard let self else { return }
                    events.report(LogMessage(.clientRefused, about: "", text(client, self.count)))
                    _ = clock.schedule(after: Self.interval) { [weak self] in
                        self?.isReported.store(false, ordering: .relaxed)
                    }
                }
            }
        }
    }
}

/// How many queries were refused since the start, by the reason.
package struct RefusedQueries: Equatable, Sendable {
    /// Their clients are not on the access list: REFUSED.
    package var access: Int
    /// More came over UDP than the loop could take: SERVFAIL, or no response at all.
    package var overload: Int
    package var dropped: Int
    /// Too many waited for an answer: SERVFAIL.
    package var queue: Int
}

/// How many of the queries that are refused are answered with SERVFAIL; the others are dropped.
///
/// Refusing a query costs the kernel's work for a datagram, some 4 us. Where the UDP threads and the loop share too few
/// CPUs, a flood of several times the capacity would spend most of the time on refusals, and ever fewer queries would be
/// answered. So no more than a number a second are; clients of the others retransmit, as if the kernel had had no room.
final class RefusalLimit: Sendable {
    private let limit: Int
    /// Of a whole second, since clients ask in bursts.
    private let answered = SecondCount()
    private let refused = Atomic<Int>(0)
    private let dropped = Atomic<Int>(0)

    /// - Parameter limit: how many are answered each second.
    init(_ limit: Int) { self.limit = limit }

    /// Queries refused since the start, and how many of these got no response.
    var counts: (refused: Int, dropped: Int) {
        (refused.load(ordering: .relaxed), dropped.load(ordering: .relaxed))
    }

    /// Counts a query that is refused. Returns whether it is answered with SERVFAIL. May be called from any thread.
    func refuse(at now: Instant) -> Bool {
        refused.wrappingAdd(1, ordering: .relaxed)
        if answered.take(limit, at: now) { return true }
        dropped.wrappingAdd(1, ordering: .relaxed)
        return false
    }
}
