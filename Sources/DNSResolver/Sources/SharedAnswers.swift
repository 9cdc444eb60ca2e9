package import DNSWire
package import Scheduling

/// The answers that several servers share: looked at before a provider is asked.
@Loop
package protocol SharedAnswers: AnyObject, Sendable {
    /// Begins a look-up.
    ///
    /// - Parameters:
    ///   - types: one, or two.
    ///   - done: called once, never before this returns, with the answers found; not after `cancel()`. Whatever is missing
    ///     is to be asked of a provider.
    /// - Returns: nil when nothing is looked up now.
    func begin(
        _ key: FlightKey, _ types: [RecordType], done: @escaping @Loop ([SharedAnswer]) -> Void
    ) -> (any SharedLookup)?
}

/// One look-up among the shared answers, and the turn to ask that goes with it, until `cancel()`.
@Loop
package protocol SharedLookup: Cancellable {
    /// Shares what an authenticated provider has answered meanwhile.
    ///
    /// - Parameters:
    ///   - provider: its index in the policy.
    ///   - server: the address and port that answered.
    func share(_ answer: Answer, _ type: RecordType, of provider: Int, from server: String)
}

/// An answer that another server has received.
package struct SharedAnswer: Hashable, Sendable {
    package let type: RecordType
    /// With the TTLs that remain.
    package let answer: Answer
    /// Seconds for which it may be used at most, whatever TTLs are raised to here.
    package let remaining: UInt32
    /// The index in the policy of the provider that gave it.
    package let provider: Int
    /// The address and port of the server that answered.
    package let server: String

    package init(type: RecordType, answer: Answer, remaining: UInt32, provider: Int, server: String) {
        self.type = type
        self.answer = answer
        self.remaining = remaining
        self.provider = provider
        self.server = server
    }
}
