/// Which of the numbers that cached answers carry are of the policy in force, and which of the present network.
///
/// One number is raised by both kinds of change, so a UDP thread compares one thing: an answer of an older number is
/// decided anew on the loop, and there the two marks tell what it is still good for. What an older policy allowed may be
/// wrong now; what another network told is only old.
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

    /// The number of what is stored now.
    var current: UInt32 { number.current }

    /// To be called after the policy was replaced.
    mutating func beginPolicy() {
        number.advance()
        policyBegan = number.current
    }

    /// To be called after the network has changed.
    mutating func beginNetwork() {
        number.advance()
        networkBegan = number.current
    }

    /// Whether an answer of this number was stored under the policy in force.
    func isOfPolicy(_ stored: UInt32) -> Bool { hasBegun(stored, since: policyBegan) }

    /// Whether an answer of this number was stored since the network last changed.
    func isOfNetwork(_ stored: UInt32) -> Bool { hasBegun(stored, since: networkBegan) }

    /// Right also after the number has wrapped.
    private func hasBegun(_ stored: UInt32, since began: UInt32) -> Bool { current &- stored <= current &- began }
}
