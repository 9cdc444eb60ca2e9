import DNSWire

/// This server's part of the calls that a fleet counts together, for one provider and one day or month.
///
/// It claims some calls in the fleet's count before it needs them, and sends no more than it has claimed, and on credit one
/// batch while a claim is under way. How much it claims follows from what it has sent: servers that ask little hold little
/// back from the others.
struct FleetPart {
    /// The part that outlives a restart.
    struct Record: Hashable, Sendable {
        /// The day or month, as `CallCount.period`.
        var number: Int64
        var epoch: UInt64
        /// Calls that are claimed and not sent.
        var reserve: Int
        /// Servers that count together.
        var servers: Int
    }

    /// The most calls of a batch; and the part of a limit that it is.
    private static let longestBatch = 100
    private static let batches = 100
    /// The part of the calls sent by which a claim is larger than they are.
    private static let growth = 4
    /// A count that begins again more often in one period is no count.
    private static let mostEpochs = 16

    let limit: Int
    /// The most calls that are claimed at once, and that may be sent on credit.
    let batch: Int
    private(set) var number = Int64.min
    /// While the fleet's count cannot be had: calls may be sent until `spent` is this.
    private var end: Int?
    /// Calls sent since the start of this process, or of the period.
    private var spent = 0
    /// Of these calls, how many are claimed in the count of each epoch; the last is in force.
    private var claims: [(epoch: UInt64, calls: Int)] = []
    /// The value that was last seen in Redis in this period; empty: none.
    var seen: [UInt8] = []
    /// The fleet's count as it was last seen in this period.
    private(set) var total: FleetTotal?
    /// The most servers that were seen to count together, in this period and the one before.
    private var servers = 1
    private var formerServers = 1
    /// The fleet has reached the limit: there is nothing to claim before the period ends.
    private(set) var isFull = false
    /// What was reported in this period.
    var hasReportedNear = false
    var hasReportedEnd = false

    /// - Parameter limit: of the whole fleet, at least 1.
    init(limit: Int) {
        self.limit = limit
        batch = min(max(1, limit / Self.batches), Self.longestBatch)
    }

    var isAlone: Bool { end != nil }
    var fleetSize: Int { max(servers, formerServers) }

    private var claimed: Int { claims.last?.calls ?? 0 }

    /// The next claim's size beyond what was sent: a quarter of that, at most a batch, and at most this server's share of
    /// what is left.
    private var step: Int {
        let left = total.map { max(0, limit - $0.calls) / fleetSize } ?? limit
        return min(batch, max(1, spent / Self.growth), max(1, left))
    }

    /// Calls that may be sent now.
    var left: Int {
        if isFull { return claimed - spent }
        if let end { return end - spent }
        return claimed - spent + batch
    }

    /// Whether `left` grows no more by a claim.
    var isFinal: Bool { isFull || isAlone }

    /// Whether a claim is due: half of the last one is used, or the count is missing.
    var wantsMore: Bool {
        if isFull { return false }
        return isAlone || claimed - spent <= step / 2
    }

    /// Begins another period, with nothing claimed in it.
    mutating func move(to number: Int64) {
        guard number != self.number else { return }
        let former = total == nil ? fleetSize : servers
        let wasAlone = isAlone
        self = FleetPart(limit: limit)
        self.number = number
        formerServers = former
        if wasAlone { lose(ownCalls: 0) }
    }

    /// A call is sent.
    mutating func spend() { spent += 1 }

    /// What is to be written in place of a count, or, without one, of what begins as `epoch`; nil when the count began
    /// again too often.
    func claim(in total: FleetTotal?, orBegin epoch: UInt64) -> FleetTotal? {
        let total = total ?? FleetTotal(epoch: epoch, calls: 0, servers: 0)
        let known = claims.first { $0.epoch == total.epoch }?.calls
        guard known != nil || claims.count < Self.mostEpochs else { return nil }
        // What this server has claimed in it is in it, unless an older count was put back.
        let before = known ?? 0
        let others = max(0, total.calls - before)
        let wanted = min(spent + step, limit - others)
        let claimed = max(spent, before, wanted)
        return FleetTotal(
            epoch: total.epoch, calls: total.calls + claimed - before, servers: total.servers + (known == nil ? 1 : 0))
    }

    /// A claim is written: `new` is the count, and was `old`.
    mutating func take(_ new: FleetTotal, for old: FleetTotal?) {
        let index = claims.firstIndex { $0.epoch == new.epoch }
        let known = index.map { claims.remove(at: $0).calls } ?? 0
        let added = new.calls - (old?.calls ?? 0)
        claims.append((new.epoch, known + added))
        total = new
        servers = max(servers, new.servers)
        if isAlone { hasReportedEnd = false }
        end = nil
        isFull = new.calls >= limit
    }

    /// The count cannot be had: this server, which has sent `ownCalls` in this period, before a restart too, goes on with
    /// its share of what the fleet had left, at least a batch.
    mutating func lose(ownCalls: Int) {
        guard !isAlone, !isFull else { return }
        let share = total.map { (limit - $0.calls) / fleetSize } ?? limit / fleetSize - ownCalls
        end = spent + max(batch, share)
    }

    var record: Record {
        Record(
            number: number, epoch: claims.last?.epoch ?? 0, reserve: min(max(0, claimed - spent), batch),
            servers: fleetSize)
    }

    /// Takes over what an earlier process had claimed and not sent.
    mutating func restore(_ record: Record, ownCalls: Int) {
        servers = max(servers, record.servers)
        let reserve = min(max(0, record.reserve), batch)
        if record.number == number, record.epoch != 0 {
            if claims.isEmpty {
                claims = [(record.epoch, reserve)]
            } else if let index = claims.firstIndex(where: { $0.epoch == record.epoch }) {
                claims[index].calls += reserve
            }
        }
        if isAlone, total == nil {
            end = nil
            lose(ownCalls: ownCalls)
        }
    }
}

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
        var bytes: [UInt8] = []
        for number in [epoch, UInt64(clamping: calls), UInt64(clamping: servers)] { bytes.append(number, bytes: 8) }
        return bytes
    }
}

extension FleetTotal {
    /// Nil for what makes no sense.
    init?(_ bytes: [UInt8]) {
        guard bytes.count == Self.length else { return nil }
        guard let calls = OutsideNumber(bytes[8..<16].number).within(0...Self.most),
            let servers = OutsideNumber(bytes[16..<24].number).within(1...Self.most)
        else { return nil }
        self.init(epoch: bytes[0..<8].number, calls: calls, servers: servers)
    }
}
