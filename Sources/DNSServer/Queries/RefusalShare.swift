import Platform
import Synchronization

/// Which part of the queries that cannot be taken on are told SERVFAIL.
///
/// All, as long as that leaves the loop its CPU. Refusing costs the kernel's work for a datagram, some 4 us; where the UDP
/// threads and the loop share too few CPUs, a flood of several times what can be answered would have most of the time spent
/// on refusing, and ever fewer answered. So while our other threads keep the loop from its CPU, fewer are told; the
/// rest hears nothing, as if the kernel had no room for their queries, and asks again.
///
/// The loop decides, the UDP threads obey.
final class RefusalShare: Sendable {
    /// All are told.
    static let whole = 64
    /// At least so many of `whole` are told, however little time there is.
    static let least = 4

    private let parts = Atomic<Int>(whole)
    private let refused = Atomic<Int>(0)
    private let silent = Atomic<Int>(0)

    /// How many of `whole` are told.
    var current: Int { parts.load(ordering: .relaxed) }

    /// How many queries were not taken on so far; of these, how many were told nothing.
    var counts: (refused: Int, silent: Int) {
        (refused.load(ordering: .relaxed), silent.load(ordering: .relaxed))
    }

    /// Counts a query that is not taken on. Returns whether its client is told so. From any thread.
    func refuse() -> Bool {
        let (parts, turn) = (current, refused.wrappingAdd(1, ordering: .relaxed).oldValue)
        if (turn &* parts) & (Self.whole - 1) + parts >= Self.whole { return true }
        silent.wrappingAdd(1, ordering: .relaxed)
        return false
    }

    /// Has more told, after an interval in which that cost nobody his answer.
    func raise() { parts.store(min(Self.whole, current + 2), ordering: .relaxed) }

    /// Has fewer told.
    func lower() { parts.store(max(Self.least, current * 7 / 8), ordering: .relaxed) }
}
