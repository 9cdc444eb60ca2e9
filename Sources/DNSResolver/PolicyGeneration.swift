package import Synchronization

/// The number of the policy in force: routes, lists, switch and providers, as one.
///
/// An answer in the cache carries the number under which it was stored. The UDP threads compare the two with one
/// load; the loop raises the number when the policy changes, which makes every older answer a miss at once.
package final class PolicyGeneration: Sendable {
    @usableFromInline
    let number = Atomic<UInt32>(1)

    package init() {}

    /// The number now. From any thread.
    @inlinable
    package var current: UInt32 { number.load(ordering: .acquiring) }

    /// Begins a new generation, after the policy itself was replaced. Wraps after 4,294,967,295.
    package func advance() { number.wrappingAdd(1, ordering: .releasing) }
}
