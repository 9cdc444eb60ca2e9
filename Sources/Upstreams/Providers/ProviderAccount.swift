public import DNSResolver
public import DNSWire
import HTTPDNS

/// State shared by all addresses of a provider: the service's time, the quota of calls, and how long its answers took.
@Loop
public final class ProviderAccount {
    let clock: ProviderClock
    private(set) var calls: CallQuota
    /// As how many an answer with addresses is billed; 0: the vendor bills none.
    let unitsOfAnswer: Int
    /// Where its calls are counted together with other servers; nil: nowhere.
    private var fleetStore: SharedStore?
    /// The count that several servers share; nil: none is shared.
    public private(set) var fleet: FleetCalls?
    /// Of the answers to clients' questions, from the request.
    public let latencies = LatencyHistogram()
    let provider: String
    let report: @Loop (ResolverEvent) -> Void

    init(
        provider: String, clock: ProviderClock, calls: CallQuota, unitsOfAnswer: Int = 0,
        report: @escaping @Loop (ResolverEvent) -> Void
    ) {
        self.provider = provider
        self.unitsOfAnswer = unitsOfAnswer
        self.clock = clock
        self.calls = calls
        self.report = report
    }

    /// Why no call may be made, in words for users; nil: one may.
    var refusal: String? {
        let now = clock.own
        guard let period = calls.exhausted(at: now) else { return nil }
        let limit = "its \(period.key) of \(calls.limit(period)) calls"
        guard calls.isFinal(period, at: now) else { return "the fleet's count of \(limit) is awaited" }
        return (fleet?.failure ?? "").isEmpty ? "\(limit) is reached" : "this server's share of \(limit) is reached"
    }

    /// The calls of a period so far.
    public func count(_ period: CallPeriod) -> CallCount { calls.count(period, at: clock.own) }

    /// What this month will have had at its end; nil while too little is known.
    public var forecast: CallCount? { calls.forecast(at: clock.own) }

    /// Until whose end no call may be made; nil while calls may be.
    public var exhausted: CallPeriod? {
        let now = clock.own
        return calls.exhausted(at: now).flatMap { calls.isFinal($0, at: now) ? $0 : nil }
    }

    /// Counts the calls together with other servers from now on, where there are limits: in `store`, without one by itself,
    /// as the same text on all servers, from what is known of an earlier count.
    func countCalls(in store: SharedStore?, as name: String, from record: FleetRecord?) {
        guard store !== fleetStore else { return }
        let record = fleet?.record ?? record
        (fleetStore, fleet) = (store, nil)
        for period in CallPeriod.allCases { calls.allow(nil, in: period) }
        guard let store, CallPeriod.allCases.contains(where: { calls.limit($0) > 0 }) else { return }
        fleet = FleetCalls(
            of: provider, as: name, in: store, count: { [weak self] in self?.count($0) ?? CallCount(period: .min) },
            limit: { calls.limit($0) }, allow: { [weak self] in self?.calls.allow($0, in: $1) }, report: report)
        if let record { fleet?.restore(record) }
        fleet?.onChange = { [weak self] in self?.onFleetChange?() }
    }

    /// Called when what is to be stored of the shared count has changed.
    var onFleetChange: (@Loop () -> Void)?

    /// A question was not sent, since a quota does not allow it: what counts for a fleet may claim more.
    func refused() { fleet?.refused() }

    /// Counts a request that is about to be sent. Returns false if a quota does not allow it.
    func take() -> Bool {
        let now = clock.own
        guard calls.take(at: now) else {
            refused()
            return false
        }
        if let ended = calls.takeEndedDay() {
            report(.dayBilled(provider: provider, text: ended.text, counts: ended.counts))
        }
        fleet?.called()
        onChange?()
        if let period = calls.exhausted(at: now) {
            // The end of a shared count is reported by what counts there.
            guard calls.allowance(period) == nil else { return true }
            report(.callLimitReached(provider: provider, period, limit: calls.limit(period)))
        } else if let period = calls.nearsLimit(at: now) {
            report(.callLimitNear(provider: provider, period, limit: calls.limit(period)))
        }
        return true
    }

    /// Counts what a reply is billed; stored with the next call.
    func bill(_ results: UpstreamResults) {
        guard unitsOfAnswer > 0 else { return }
        let answers = results.addressAnswers
        if answers > 0 { calls.bill(answers * unitsOfAnswer, at: clock.own) }
    }

    /// The calls of this day and month, to be stored for the next start.
    public var record: CallQuota.Record { calls.record(at: clock.own) }

    /// Continues counting from a stored record; what is of an earlier day or month is ignored.
    public func restore(_ record: CallQuota.Record) { calls.restore(record, at: clock.own) }

    /// Called when a call was counted, and when the service's time was learned.
    var onChange: (@Loop () -> Void)?

    /// Called with what the service shows over https of this machine's clock.
    public var onSign: (@Loop (TimeOfDay.Sign) -> Void)?

    /// Passes a reply, and the time of day in it, to `onSign`. One from an HTTP cache has the time of its first use, and
    /// which reply is long in a cache can be chosen by a client.
    func noteTime(of response: HTTPResponse) {
        guard clock.isAuthenticated else { return }
        onSign?(.reply(response.age ?? 0 == 0 ? response.date : nil))
    }

    /// Corrects the clock by the service's time.
    func learn(_ time: Int64) {
        guard clock.learn(time) else { return }
        onChange?()
        report(.clockCorrected(provider: provider, seconds: clock.offset))
    }
}

/// The time of day of a service: ours, corrected by the times the service reported.
@Loop
final class ProviderClock {
    /// The range of plausible times of day, 2025 to 2099. Before that our clock was never set.
    static let plausible: Range<Int64> = 1_735_689_600..<4_102_444_800
    /// The most by which a time received over plain http, which may be forged, may differ from ours if ours was ever
    /// set: a wrong date and time zone. A signature made for a time further ahead would be usable by the forger until
    /// then.
    static let forgeableLimit: Int64 = 2 * 86_400

    private let timeOfDay: @Sendable () -> Int64
    /// Whether times are received over https, and so come from the service.
    let isAuthenticated: Bool
    /// Seconds by which the service's clock is ahead of ours.
    private(set) var offset: Int64 = 0

    /// `timeOfDay` is in seconds since 1970.
    init(isAuthenticated: Bool, _ timeOfDay: @escaping @Sendable () -> Int64) {
        self.isAuthenticated = isAuthenticated
        self.timeOfDay = timeOfDay
    }

    /// The service's time, in seconds since 1970.
    var now: Int64 { timeOfDay() &+ offset }

    /// Our own time, in seconds since 1970.
    var own: Int64 { timeOfDay() }

    /// Restores by how many seconds the service's clock was ahead of ours, as an earlier process had learned at `time` of
    /// ours, unless one was learned since, or our clock was never set then or is not set now.
    func restore(_ offset: Int64, reportedAt time: Int64) {
        let own = timeOfDay()
        guard self.offset == 0, Self.plausible.contains(time), Self.plausible.contains(own), own >= time else { return }
        _ = learn((OutsideNumber(own) + offset).clamped(to: .min ... .max))
    }

    /// Stores the offset to the service's time. Returns whether it is new and plausible; else another attempt would fail,
    /// too.
    func learn(_ time: Int64) -> Bool {
        let own = timeOfDay()
        guard Self.plausible.contains(time) else { return false }
        let ahead = OutsideNumber(time) - own
        guard
            isAuthenticated || !Self.plausible.contains(own)
                || ahead.within(-Self.forgeableLimit...Self.forgeableLimit) != nil,
            // The reply may have been in transit for a second.
            (ahead - offset).within(-1...1) == nil
        else { return false }
        offset = ahead.clamped(to: .min ... .max)
        return true
    }
}
