import DNSWire

/// The calls that a fleet has claimed for one provider in one day or month, as they are written in Redis.
struct FleetTotal: Equatable {
    /// More than any fleet has; a larger number is none.
    private static let most = 1 << 48
    private static let length = 24

    /// Chosen at random by the server that found no count: another one says that the count began again.
    let epoch: UInt64
    let calls: Int
    /// Servers that have claimed calls in this epoch.
    let servers: Int

    /// As they are sealed: three numbers of 8 bytes.
    var bytes: [UInt8] {
        [epoch, UInt64(clamping: calls), UInt64(clamping: servers)].flatMap { number in
            (0..<8).map { UInt8(truncatingIfNeeded: number >> (56 - 8 * UInt64($0))) }
        }
    }

    init(epoch: UInt64, calls: Int, servers: Int) {
        (self.epoch, self.calls, self.servers) = (epoch, calls, servers)
    }

    /// Nil for what makes no sense.
    init?(_ bytes: [UInt8]) {
        guard bytes.count == Self.length else { return nil }
        let numbers = (0..<3).map { index in
            bytes[(index * 8)..<(index * 8 + 8)].reduce(UInt64(0)) { $0 << 8 | UInt64($1) }
        }
        guard let calls = OutsideNumber(numbers[1]).within(0...Self.most),
            let servers = OutsideNumber(numbers[2]).within(1...Self.most)
        else { return nil }
        self.init(epoch: numbers[0], calls: calls, servers: servers)
    }
}
