import Scheduling
import Synchronization

/// How many of the queries that are refused are answered with SERVFAIL; the others are dropped.
///
/// Refusing a query costs the kernel's work for a datagram, some 4 us. Where the UDP threads and the loop share too few
/// CPUs, a flood of several times the capacity would spend most of the time on refusals, and ever fewer queries would be
/// answered. So no more than a number a second are; clients of the others retransmit, as if the kernel had had no room.
final class RefusalLimit: Sendable {
    /// Nanoseconds in which so many are answered: a whole second, since clients ask in bursts.
    private static let interval: Int64 = 1_000_000_000

    private let limit: Int
    private let current = Atomic<Int64>(0)
    /// Refused in the current interval.
    private let used = Atomic<Int>(0)
    private let refused = Atomic<Int>(0)
    private let dropped = Atomic<Int>(0)

    /// - Parameter limit: how many are answered each second.
    init(_ limit: Int) { self.limit = limit }

    /// Queries refused since the start, and how many of these got no response.
    var counts: (refused: Int, dropped: Int) {
        (refused.load(ordering: .relaxed), dropped.load(ordering: .relaxed))
    }

    /// Counts a query that is refused over TCP, where each is answered.
    func refuseOverTCP() { refused.wrappingAdd(1, ordering: .relaxed) }

    /// Counts a query that is refused over UDP. Returns whether it is answered with SERVFAIL. May be called from any thread.
    func refuse(at now: Instant) -> Bool {
        refused.wrappingAdd(1, ordering: .relaxed)
        let interval = now.nanoseconds / Self.interval
        if current.load(ordering: .relaxed) != interval, current.exchange(interval, ordering: .relaxed) != interval {
            used.store(0, ordering: .relaxed)
        }
        if used.wrappingAdd(1, ordering: .relaxed).oldValue < limit { return true }
        dropped.wrappingAdd(1, ordering: .relaxed)
        return false
    }
}
