import DNSCache
public import DNSWire

/// Addresses that users have reported as bad: they are deprioritized (moved to the end) in every answer that holds
/// them, until the report has faded.
///
/// A report weighs 1 and loses half of that with every third of its lifetime; reports of one address add up. Below 1/8
/// it is dropped: one report after its lifetime, two after a third more. No address is removed from an answer.
@Loop
public final class BadAddresses {
    /// The most addresses at once; beyond it the one with the least weight is dropped.
    public nonisolated static let capacity = 1_024
    /// How long one report counts unless it says otherwise.
    public nonisolated static let defaultLifetime: Duration = .seconds(30 * 60)
    /// The shortest and the longest lifetime of a report.
    public nonisolated static let lifetimes: ClosedRange<Duration> = .seconds(1) ... .seconds(30 * 86_400)
    /// How many times its weight halves in a report's lifetime.
    private nonisolated static let halvings = 3

    /// The reports of one address. Their weight is the least at their end, and twice as much at the end of each half-life
    /// before; between two of these it is linear.
    private struct Report {
        /// When they will have faded.
        let until: Instant
        let halfLife: Duration

        init(weight: Double, at now: Instant, halfLife: Duration) {
            let ratio = weight / BadAddresses.least
            let lives = Double(ratio.exponent) + ratio.significand - 1
            until = now + .nanoseconds(Int64(Double(halfLife.nanoseconds) * lives))
            self.halfLife = halfLife
        }

        func weight(at now: Instant) -> Double {
            let lives = Double((until - now).nanoseconds) / Double(halfLife.nanoseconds)
            guard lives > 0 else { return 0 }
            let whole = lives.rounded(.down)
            return BadAddresses.least * Double(sign: .plus, exponent: Int(whole), significand: 1 + lives - whole)
        }
    }

    /// A reported address as listed in output.
    public struct Listed: Hashable, Sendable {
        public let address: IPAddress
        /// At least 1/8; 1 is one report just made.
        public let weight: Double
        /// When the report will have faded, if no other one is made.
        public let until: Instant
    }

    private nonisolated static var least: Double { 1 / Double(1 << halvings) }

    private let clock: any LoopClock
    private var reports: [IPAddress: Report] = [:]

    public nonisolated init(clock: any LoopClock) { self.clock = clock }

    /// Records a report that counts for `lifetime`, within `lifetimes`; of several the longest is that of all.
    public func report(_ address: IPAddress, lifetime: Duration = BadAddresses.defaultLifetime) {
        removeFaded()
        let now = clock.now
        let bounded = min(max(lifetime, Self.lifetimes.lowerBound), Self.lifetimes.upperBound)
        let earlier = reports[address]
        reports[address] = Report(
            weight: 1 + (earlier?.weight(at: now) ?? 0), at: now,
            halfLife: max(bounded / Self.halvings, earlier?.halfLife ?? .zero))
        guard reports.count > Self.capacity else { return }
        let lightest = reports.filter { $0.key != address }.min { $0.value.weight(at: now) < $1.value.weight(at: now) }
        if let lightest { reports[lightest.key] = nil }
    }

    /// Drops the reports of an address. Returns whether there were any.
    public func remove(_ address: IPAddress) -> Bool {
        removeFaded()
        return reports.removeValue(forKey: address) != nil
    }

    /// All addresses that still count, the worst first.
    public var list: [Listed] {
        removeFaded()
        let now = clock.now
        return reports.map { address, report in
            Listed(address: address, weight: report.weight(at: now), until: report.until)
        }.sorted { ($0.weight, $1.address.description) > ($1.weight, $0.address.description) }
    }

    /// The answer with reported addresses last, the worst at the very end; otherwise in its order.
    func withBadAddressesLast(_ answer: consuming Answer) -> Answer {
        guard !reports.isEmpty else { return answer }
        removeFaded()
        let now = clock.now
        let records = answer.answers
        let places = records.indices.filter { index in records[index].address != nil }
        let weighed = places.map { index in
            (index, records[index].address.flatMap { reports[$0]?.weight(at: now) } ?? 0)
        }
        guard weighed.contains(where: { $0.1 > 0 }) else { return answer }
        let order = weighed.sorted { ($0.1, $0.0) < ($1.1, $1.0) }
        for (place, (index, _)) in zip(places, order) { answer.answers[place] = records[index] }
        return answer
    }

    /// Whether an answer holds an address that was reported.
    func isReported(in answer: borrowing PackedAnswer) -> Bool {
        !reports.isEmpty && answer.addresses.contains { reports[$0] != nil }
    }

    private func removeFaded() {
        let now = clock.now
        reports = reports.filter { now < $0.value.until }
    }
}
