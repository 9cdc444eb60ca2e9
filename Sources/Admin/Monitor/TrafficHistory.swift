public import DNSWire

/// What the server counted in the last hour, in steps of 30 seconds, and in the last day, in steps of 12 minutes: charts begin
/// before the page is opened, and the verdict knows the last five minutes.
///
/// It takes some 32 KiB whatever happens, and wakes the loop at the end of each step of 30 seconds, as long as it exists.
@Loop
public final class TrafficHistory {
    /// The steps of one length.
    struct Chart {
        /// The most steps that are held.
        static let limit = 120

        let length: Duration
        /// The numbers of the last steps; that of step n begins at n modulo `limit`.
        private var ring: [[UInt32]] = []
        /// How many steps have ended since the start.
        private(set) var count = 0
        /// The numbers as of the end of the last step.
        private var last: [UInt32]
        fileprivate private(set) var end: Instant

        fileprivate init(_ length: Duration, _ numbers: [UInt32], at now: Instant) {
            (self.length, last, end) = (length, numbers, now + length)
        }

        /// Ends the steps that have passed.
        fileprivate mutating func advance(to now: Instant, _ numbers: [UInt32]) {
            // A machine that slept: what it was awake for is in the first step.
            end = max(end, now - length * (Self.limit - 1))
            while end <= now {
                if ring.count < Self.limit { ring.append([]) }
                ring[count % Self.limit] = difference(numbers)
                (last, count, end) = (numbers, count + 1, end + length)
            }
        }

        /// A number that falls, as the calls of a provider that is asked no more, counts as none in that step.
        fileprivate func difference(_ numbers: [UInt32]) -> [UInt32] {
            zip(numbers, last).map { UInt32(max(0, Int32(bitPattern: $0 &- $1))) }
        }

        /// The steps that have ended since there were `number`, as far as they are held.
        func steps(after number: Int) -> [[UInt32]] {
            (max(number, count - Self.limit)..<max(number, count)).map { ring[$0 % Self.limit] }
        }

        /// How long the step that has not ended has been so far.
        func elapsed(at now: Instant) -> Duration { length - (end - now) }
    }

    private let read: @Loop () -> TrafficReport
    private let clock: any LoopClock
    private(set) var hour: Chart
    private(set) var day: Chart
    private var timer: LoopTimer?

    /// - Parameter read: what was counted since the start.
    init(clock: any LoopClock, _ read: @escaping @Loop () -> TrafficReport) {
        self.clock = clock
        self.read = read
        let numbers = read().numbers
        hour = Chart(.seconds(30), numbers, at: clock.now)
        day = Chart(.seconds(720), numbers, at: clock.now)
        setTimer()
    }

    var now: Instant { clock.now }

    /// The steps that have not ended, of the hour and of the day.
    var current: (hour: [UInt32], day: [UInt32]) {
        let numbers = read().numbers
        return (hour.difference(numbers), day.difference(numbers))
    }

    /// What clients got in the last five minutes, and in the step that has not ended.
    var recent: Verdict.Traffic {
        let counters = read()
        let steps = hour.steps(after: max(0, hour.count - 10)) + [hour.difference(counters.numbers)]
        func sum(_ labels: [String]) -> Int {
            let places = counters.answers.indices.filter { labels.contains(counters.answers[$0].label) }
            return steps.reduce(0) { sum, step in places.reduce(sum) { $0 + Int(step[$1]) } }
        }
        let unanswered = steps.reduce(0) { $0 + Int($1.last ?? 0) }
        return (sum(counters.answers.map(\.label)) + unanswered, sum(["none"]) + unanswered, sum(["stale"]))
    }

    /// The steps of the hour and of the day that have ended since a reader has `seen` so many; at first, with none, all that are
    /// held.
    func steps(after seen: inout (hours: Int, days: Int)) -> (hour: [[UInt32]], day: [[UInt32]]) {
        defer { seen = (hour.count, day.count) }
        return (hour.steps(after: seen.hours), day.steps(after: seen.days))
    }

    private func setTimer() { timer = clock.schedule(at: hour.end) { [weak self] in self?.endStep() } }

    private func endStep() {
        let numbers = read().numbers
        hour.advance(to: clock.now, numbers)
        day.advance(to: clock.now, numbers)
        setTimer()
    }
}

/// What the server has counted since its start, as far as the page's charts show it; nothing in it names a client or a domain
/// name.
public struct TrafficReport: Sendable {
    /// A label's value, and how long the things that have it took.
    public typealias Latencies = (label: String, histogram: LatencyHistogram.Total)

    /// From query to response, by the source of the answer; always the same sources.
    public var answers: [Latencies] = []
    /// From request to response, by provider.
    public var providers: [Latencies] = []
    /// Requests to providers.
    public var calls = 0
    /// Queries without an answer of any source, beyond what the server can take.
    public var unanswered = 0

    public init() {}

    /// The answers by source, the same by bucket of their time, the calls, and what was not answered. They may wrap: only
    /// differences are used.
    fileprivate var numbers: [UInt32] {
        var buckets = Array(repeating: 0, count: answers.first?.histogram.counts.count ?? 0)
        for answer in answers {
            for (index, count) in answer.histogram.counts.enumerated() { buckets[index] &+= count }
        }
        let sums = answers.map { $0.histogram.counts.reduce(0, &+) }
        return (sums + buckets + [calls, unanswered]).map { UInt32(truncatingIfNeeded: $0) }
    }
}
