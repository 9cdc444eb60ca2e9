import DNSWire
import Scheduling
import Synchronization

/// How many responses a second a client network gets over UDP without a cookie: any host may have sent the queries in its
/// name, so that the responses flood it.
///
/// Counted are networks with public addresses: those of private networks, and of this machine, no host elsewhere can reach.
/// They share counters by a hash with a key of this process; a network that shares one with a flooded one is directed to
/// TCP, too.
final class DatagramRate: Sendable {
    private static let size = 4_096

    private let counts = InlineArray<4_096, SecondCount> { _ in SecondCount() }
    private let limit: Atomic<Int>

    /// - Parameter limit: responses a second; 0: any number.
    init(_ limit: Int) { self.limit = Atomic(limit) }

    /// Takes another limit.
    func set(_ limit: Int) { self.limit.store(limit, ordering: .relaxed) }

    /// Counts a response. Returns whether there may be one. May be called from any thread.
    func take(for client: IPAddress, at now: Instant) -> Bool {
        let limit = limit.load(ordering: .relaxed)
        guard limit > 0, client.isRouted else { return true }
        var hasher = Hasher()
        hasher.combine(ClientNetwork(client))
        return counts[hasher.finalize() & (Self.size - 1)].take(limit, at: now)
    }
}

/// Counts up to a limit in each second.
struct SecondCount: ~Copyable, Sendable {
    /// The second in the upper half, the number in it in the lower one.
    private let value = Atomic<UInt64>(0)

    /// Counts one. Returns whether the limit allows it. May be called from any thread.
    func take(_ limit: Int, at now: Instant) -> Bool {
        let second = UInt64(UInt32(truncatingIfNeeded: now.nanoseconds / 1_000_000_000)) << 32
        var count = value.load(ordering: .relaxed)
        while true {
            let next = count & ~0xffff_ffff == second ? count &+ 1 : second | 1
            guard next & 0xffff_ffff <= limit else { return false }
            let result = value.compareExchange(expected: count, desired: next, ordering: .relaxed)
            if result.exchanged { return true }
            count = result.original
        }
    }
}
