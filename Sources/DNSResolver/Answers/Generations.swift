package import Synchronization

/// Which of the generations that cached answers carry belong to the policy in force, and which to the present network.
///
/// Both kinds of change increment one number, so a UDP thread compares one value: an answer of an older generation is
/// decided again on the loop, and there the two marks say how it may be used. An answer that an older policy allowed
/// may be wrong now; one from another network is only stale.
struct Generations {
    private let number: PolicyGeneration
    /// The number with which the policy in force began, and that with which the present network did.
    private var policyBegan: UInt32
    private var networkBegan: UInt32

    init(_ number: PolicyGeneration) {
        self.number = number
        policyBegan = number.current
        networkBegan = number.current
    }

    /// The number for what is stored now.
    var current: UInt32 { number.current }

    /// Called after the policy was replaced.
    mutating func beginPolicy() {
        number.advance()
        policyBegan = number.current
    }

    /// Called after the network has changed.
    mutating func beginNetwork() {
        number.advance()
        networkBegan = number.current
    }

    /// Whether an answer of this number was stored under the policy in force.
    func isOfPolicy(_ stored: UInt32) -> Bool { hasBegun(stored, since: policyBegan) }

    /// Whether an answer of this number was stored since the network last changed.
    func isOfNetwork(_ stored: UInt32) -> Bool { hasBegun(stored, since: networkBegan) }

    /// Also correct after the number has wrapped.
    private func hasBegun(_ stored: UInt32, since began: UInt32) -> Bool { current &- stored <= current &- began }
}

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
