import DNSWire

/// The calls that each client network has caused since half of the providers' limits was spent: that half is shared.
///
/// At most `capacity` networks; beyond it the counts begin again, which can only let more through.
struct CallShares {
    private static let capacity = 1_024

    private var calls: [ClientNetwork: Int] = [:]

    init() {}

    /// Counts a call, unless the client network has had its share.
    ///
    /// - Parameter share: nil: half of the limits is not spent, and nothing is counted.
    /// - Returns: whether it is refused.
    mutating func refuses(_ network: ClientNetwork, share: Int?) -> Bool {
        guard let share else {
            if !calls.isEmpty { calls = [:] }
            return false
        }
        let count = calls[network] ?? 0
        guard count < share else { return true }
        if calls.count >= Self.capacity, count == 0 { calls = [:] }
        calls[network] = count + 1
        return false
    }
}
