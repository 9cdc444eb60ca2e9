import DNSWire
import Scheduling

/// The calls that each client network has caused since half of the providers' limits was spent: that half is shared, where
/// several networks ask.
///
/// At most `capacity` networks; beyond it the counts begin again, which can only let more through.
struct CallShares {
    private static let capacity = 1_024
    /// How long a network is remembered that has asked.
    private static let memory: Duration = .seconds(86_400)

    private var calls: [ClientNetwork: Int] = [:]
    private var seen: [ClientNetwork: Instant] = [:]

    init() {}

    /// Counts a call, unless the client network has had its share, and others ask too.
    ///
    /// - Parameter share: `.max`: half of some limit is not spent, and nothing is counted.
    /// - Returns: whether it is refused.
    mutating func refuses(_ network: ClientNetwork, share: Int, at now: Instant) -> Bool {
        if seen.count >= Self.capacity, seen[network] == nil { seen = seen.filter { now - $0.value < Self.memory } }
        if seen.count < Self.capacity || seen[network] != nil { seen[network] = now }
        guard share < .max else {
            if !calls.isEmpty { calls = [:] }
            return false
        }
        let count = calls[network] ?? 0
        if count >= share, seen.contains(where: { $0.key != network && now - $0.value < Self.memory }) { return true }
        if calls.count >= Self.capacity, count == 0 { calls = [:] }
        calls[network] = count + 1
        return false
    }
}
