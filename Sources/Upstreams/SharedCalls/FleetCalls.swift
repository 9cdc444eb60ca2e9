public import DNSResolver
public import DNSWire

/// The calls to one provider as a fleet counts them, in Redis: `daily_limit` and `monthly_limit` hold for all servers
/// together.
///
/// The count is one sealed value for each day and month. A claim replaces it where it is still the value that was seen, by
/// a script, so that claims of two servers never overwrite each other. It is sealed since others can write there: a count
/// that is put up would stop the fleet's questions. What is removed, changed or put back takes the count away at most:
/// each server then adds its own calls to the next one.
///
/// No query waits for it: what may be sent is known before (`FleetPart`), and while Redis cannot be asked each server keeps
/// to its own share.
@Loop
public final class FleetCalls {
    /// Writes a value in place of the one expected, or returns what is there; an empty text: nothing, or what is no value.
    private nonisolated static let script = Array(
        """
        local v = redis.pcall('GET', KEYS[1])
        if type(v) ~= 'string' or #v > 200 then v = '' end
        if v ~= ARGV[1] then return v end
        redis.call('SET', KEYS[1], ARGV[2], 'EX', ARGV[3])
        return 1
        """.utf8)
    /// How often a claim is tried when another server came before.
    private nonisolated static let mostTries = 8
    /// The first and the longest backoff after Redis refused a claim.
    private nonisolated static let pauses: ClosedRange<Duration> = .seconds(1)...(.seconds(60))

    private let provider: String
    /// Whose calls they are: the same text on every server.
    private let name: String
    private let store: SharedStore
    /// What this server has sent in a period.
    private let count: @Loop (CallPeriod) -> CallCount
    /// Sets what it may send.
    private let allow: @Loop (CallQuota.Allowance, CallPeriod) -> Void
    private let report: @Loop (ResolverEvent) -> Void
    private var parts: [CallPeriod: FleetPart] = [:]
    /// The periods whose claims are under way.
    private var asking: Set<CallPeriod> = []
    private var backoff = Backoff(FleetCalls.pauses)
    /// Why the count cannot be had; empty: it can.
    public private(set) var failure = ""
    private var hasReportedFailure = false
    /// Called when what is to be stored has changed.
    var onChange: (@Loop () -> Void)?

    /// - Parameter limit: of the whole fleet in a period; 0: none.
    init(
        of provider: String, as name: String, in store: SharedStore,
        count: @escaping @Loop (CallPeriod) -> CallCount,
        limit: @Loop (CallPeriod) -> Int, allow: @escaping @Loop (CallQuota.Allowance, CallPeriod) -> Void,
        report: @escaping @Loop (ResolverEvent) -> Void
    ) {
        (self.provider, self.name, self.store) = (provider, name, store)
        (self.count, self.allow, self.report) = (count, allow, report)
        for period in CallPeriod.allCases where limit(period) > 0 {
            parts[period] = FleetPart(limit: limit(period))
        }
        renew(asks: false)
    }

    /// The fleet's count of a period as it was last seen; nil: it was not, or there is no limit.
    public func total(_ period: CallPeriod) -> Int? { parts[period]?.total?.calls }

    /// The most servers that were seen to count together.
    public var servers: Int { parts.values.map(\.fleetSize).max() ?? 1 }

    var record: FleetRecord { FleetRecord(parts: parts.mapValues(\.record)) }

    func restore(_ record: FleetRecord) {
        renew(asks: false)
        for (period, part) in record.parts { parts[period]?.restore(part, ownCalls: count(period).calls) }
        renew(asks: false)
    }

    /// A call was counted, and is about to be sent.
    func called() {
        move()
        for period in parts.keys { parts[period]?.spend() }
        renew(asks: true)
        onChange?()
    }

    /// A call was not sent, since nothing is left.
    func refused() { renew(asks: true) }

    // MARK: What may be sent

    private func move() {
        for period in parts.keys { parts[period]?.move(to: count(period).period) }
    }

    /// Says what may be sent, and claims what is due.
    private func renew(asks: Bool) {
        move()
        for period in CallPeriod.allCases {
            if asks, parts[period]?.wantsMore == true { ask(period) }
            settle(period)
        }
    }

    private func settle(_ period: CallPeriod) {
        guard var part = parts[period] else { return }
        allow(CallQuota.Allowance(number: part.number, left: part.left, isFinal: part.isFinal), period)
        let limit = part.limit
        if part.isFinal, part.left <= 0, !part.hasReportedEnd {
            part.hasReportedEnd = true
            part.hasReportedNear = true
            report(
                part.isFull
                    ? .fleetLimitReached(provider: provider, period, limit: limit)
                    : .shareReached(provider: provider, period, limit: limit))
        } else if !part.hasReportedNear, (part.total?.calls ?? 0) >= limit - limit / 5 {
            part.hasReportedNear = true
            report(.fleetLimitNear(provider: provider, period, limit: limit))
        }
        parts[period] = part
    }

    // MARK: Claims

    private func ask(_ period: CallPeriod) {
        guard !asking.contains(period), !backoff.isActive || backoff.isDue(at: store.clock.now, isUrgent: false),
            let number = parts[period]?.number
        else { return }
        guard store.hasTime() else { return lose("this machine's clock is in doubt") }
        guard let place = store.keys.count(of: name, period.text(of: number)) else { return lose("no key") }
        claim(period, number, at: place, tries: Self.mostTries)
    }

    /// Sends a claim in place of the value that was last seen.
    private func claim(_ period: CallPeriod, _ number: Int64, at place: SharedPlace, tries: Int) {
        let value = parts[period]?.seen ?? []
        let old = place.open(value).flatMap { FleetTotal($0) }
        if old == nil, !value.isEmpty { store.foundDamage() }
        guard let new = parts[period]?.claim(in: old, orBegin: .random(in: 1...(.max))),
            let sealed = place.seal(new.bytes)
        else { return lose("its count is removed again and again") }
        let command = RedisCommand(
            "EVAL", Self.script, Array("1".utf8), place.name, value, sealed, Array(Self.lifetime(period).utf8))
        let isSent = store.redis.send(command) { [weak self] reply in
            guard let self else { return }
            asking.remove(period)
            // Of a day that has ended meanwhile: what was claimed there is of no use.
            guard parts[period]?.number == number else { return renew(asks: false) }
            switch reply {
            case .integer(1)?:
                parts[period]?.seen = sealed
                parts[period]?.take(new, for: old)
                found()
            case .bytes(let other)?:
                parts[period]?.seen = other
                if tries > 1 {
                    claim(period, number, at: place, tries: tries - 1)
                } else {
                    settle(period)
                }
            case .error(let reason)?:
                backoff.failed(at: store.clock.now)
                lose("it refuses EVAL: \(reason)")
            case nil: lose(store.redis.lastFailure.isEmpty ? "no reply" : store.redis.lastFailure)
            case .some:
                backoff.failed(at: store.clock.now)
                lose("it replies what is no count")
            }
        }
        if isSent {
            asking.insert(period)
        } else {
            lose(store.redis.lastFailure)
        }
    }

    private func found() {
        backoff.succeeded()
        failure = ""
        if hasReportedFailure {
            hasReportedFailure = false
            report(.fleetCountBack(provider: provider))
        }
        renew(asks: false)
        onChange?()
    }

    /// - Parameter reason: empty: its host is not looked up yet.
    private func lose(_ reason: String) {
        failure = reason.isEmpty ? "no address of its host is known yet" : reason
        if !reason.isEmpty, !hasReportedFailure {
            hasReportedFailure = true
            report(.fleetCountMissing(provider: provider, reason: reason))
        }
        for period in parts.keys {
            parts[period]?.lose(ownCalls: count(period).calls)
            settle(period)
        }
    }

    /// Seconds until Redis removes a count that is not written any more: a little longer than the period, for clocks
    /// differ.
    private static func lifetime(_ period: CallPeriod) -> String { period == .day ? "90000" : "2764800" }
}

/// This server's parts of the calls that a fleet counts together for one provider, to be stored for the next start.
public struct FleetRecord: Hashable, Sendable {
    /// More servers than any fleet has.
    private static let mostServers = 1 << 32

    var parts: [CallPeriod: FleetPart.Record]

    init(parts: [CallPeriod: FleetPart.Record]) { self.parts = parts }

    /// As it is stored on disk: five words for each period.
    public var storedText: String {
        CallPeriod.allCases.compactMap { period in
            parts[period].map { "\(period.key) \($0.number) \($0.epoch) \($0.reserve) \($0.servers)" }
        }.joined(separator: " ")
    }

    /// Nil for what makes no sense.
    public init?(storedText: String) {
        let words = storedText.split(separator: " ")
        guard words.count == 5 || words.count == 10 else { return nil }
        var parts: [CallPeriod: FleetPart.Record] = [:]
        for start in stride(from: 0, to: words.count, by: 5) {
            guard let period = CallPeriod.allCases.first(where: { $0.key == words[start] }),
                let number = Int64(words[start + 1]), let epoch = UInt64(words[start + 2]),
                let reserve = Int(words[start + 3]),
                let servers = OutsideNumber(digits: words[start + 4])?.within(1...Self.mostServers)
            else { return nil }
            parts[period] = FleetPart.Record(number: number, epoch: epoch, reserve: reserve, servers: servers)
        }
        self.parts = parts
    }
}
