package import Synchronization

/// The generation of the state on which answers depend: routes, lists, switch, providers and the network, as one
/// number.
///
/// An answer in the cache carries the generation in which it was stored. The UDP threads compare the two with one load;
/// the loop increments the generation when the policy or the network changes, which makes every older answer a miss at
/// once. `Generations` records which of the two changed.
package final class PolicyGeneration: Sendable {
    @usableFromInline
    let number = Atomic<UInt32>(1)

    package init() {}

    /// The present number. From any thread.
    @inlinable
    package var current: UInt32 { number.load(ordering: .acquiring) }

    /// Begins a new generation, after policy or network have changed. Wraps after 4,294,967,295.
    package func advance() { number.wrappingAdd(1, ordering: .releasing) }
}
