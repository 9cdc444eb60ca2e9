import Platform
import Synchronization

/// The fraction of the queries beyond capacity that are answered with SERVFAIL; the others are dropped.
///
/// All are answered, as long as that leaves the loop its CPU. Refusing a query costs the kernel's work for a datagram,
/// some 4 us. Where the UDP threads and the loop share too few CPUs, a flood of several times the capacity would spend
/// most of the time on refusals, and ever fewer queries would be answered. So while our other threads keep the loop
/// from its CPU, fewer get SERVFAIL; the rest get no response, as if the kernel had no room for them, and clients
/// retransmit.
///
/// The loop sets the fraction, the UDP threads apply it.
final class RefusalShare: Sendable {
    /// The fraction at which all get SERVFAIL, and the denominator of the others.
    static let whole = 64
    /// The least fraction, as parts of `whole`, however little CPU time there is.
    static let least = 4

    private let parts = Atomic<Int>(whole)
    private let refused = Atomic<Int>(0)
    private let silent = Atomic<Int>(0)

    /// How many of `whole` get SERVFAIL.
    var current: Int { parts.load(ordering: .relaxed) }

    /// Queries refused since the start, and how many of these got no response.
    var counts: (refused: Int, silent: Int) {
        (refused.load(ordering: .relaxed), silent.load(ordering: .relaxed))
    }

    /// Counts a refused query. Returns whether it is answered with SERVFAIL. May be called from any thread.
    func refuse() -> Bool {
        let (parts, turn) = (current, refused.wrappingAdd(1, ordering: .relaxed).oldValue)
        if (turn &* parts) & (Self.whole - 1) + parts >= Self.whole { return true }
        silent.wrappingAdd(1, ordering: .relaxed)
        return false
    }

    /// Raises the fraction, after an interval in which refusals cost no query its answer.
    func raise() { parts.store(min(Self.whole, current + 2), ordering: .relaxed) }

    /// Lowers the fraction.
    func lower() { parts.store(max(Self.least, current * 7 / 8), ordering: .relaxed) }
}
