import DNSResolver
import DNSWire

/// This server's parts of the calls that a fleet counts together for one provider, to be stored for the next start.
package struct FleetRecord: Hashable, Sendable {
    /// More servers than any fleet has.
    private static let mostServers = 1 << 32

    var parts: [CallQuota.Period: FleetPart.Record]

    init(parts: [CallQuota.Period: FleetPart.Record]) { self.parts = parts }

    /// As it is stored on disk: five words for each period.
    package var storedText: String {
        [CallQuota.Period.day, .month].compactMap { period in
            parts[period].map { "\(period.key) \($0.number) \($0.epoch) \($0.reserve) \($0.servers)" }
        }.joined(separator: " ")
    }

    /// Nil for what makes no sense.
    package init?(storedText: String) {
        let words = storedText.split(separator: " ")
        guard words.count == 5 || words.count == 10 else { return nil }
        var parts: [CallQuota.Period: FleetPart.Record] = [:]
        for start in stride(from: 0, to: words.count, by: 5) {
            guard let period = [CallQuota.Period.day, .month].first(where: { $0.key == words[start] }),
                let number = Int64(words[start + 1]), let epoch = UInt64(words[start + 2]),
                let reserve = Int(words[start + 3]),
                let servers = OutsideNumber(digits: words[start + 4])?.within(1...Self.mostServers)
            else { return nil }
            parts[period] = FleetPart.Record(number: number, epoch: epoch, reserve: reserve, servers: servers)
        }
        self.parts = parts
    }
}
