package import Synchronization

/// The number of what answers were decided by: routes, lists, switch, providers and the network, as one.
///
/// An answer in the cache carries the number under which it was stored. The UDP threads compare the two with one
/// load; the loop raises the number when the policy or the network changes, which makes every older answer a miss at
/// once. `Generations` knows which of the two it was.
package final class PolicyGeneration: Sendable {
    @usableFromInline
    let number = Atomic<UInt32>(1)

    package init() {}

    /// The number now. From any thread.
    @inlinable
    package var current: UInt32 { number.load(ordering: .acquiring) }

    /// Begins a new generation, after what it stands for was replaced. Wraps after 4,294,967,295.
    package func advance() { number.wrappingAdd(1, ordering: .releasing) }
}
