import Scheduling

/// What the server answered in the last hour, in steps of 10 seconds, for charts that begin before the page is opened.
///
/// It takes some 46 KiB whatever happens, and wakes the loop at the end of each step, as long as it exists.
@Loop
final class TrafficHistory {
    /// The answers of a step, by source and by the time that they took.
    struct Step: Equatable, Sendable {
        /// By source, in the order of the report.
        let answers: [Int]
        /// By bucket of the histograms, of all sources together.
        let latencies: [Int]
    }

    nonisolated static let length: Duration = .seconds(10)
    /// The most steps that are held: an hour of them.
    nonisolated static let limit = 360

    private let read: @Loop () -> [TrafficReport.Latencies]
    private let clock: any LoopClock
    /// How many sources there are.
    private let sources: Int
    /// All counters as of the end of the last step. They may wrap: only differences are used.
    private var counters: [UInt32]
    /// The numbers of the last steps, one after the other; that of step n begins at n modulo `limit`.
    private var ring: [UInt32]
    /// How many steps have ended since the start.
    private(set) var count = 0
    private var end: Instant
    private var timer: LoopTimer?

    /// - Parameter read: the answers since the start, by source; always the same sources.
    init(clock: any LoopClock, _ read: @escaping @Loop () -> [TrafficReport.Latencies]) {
        self.clock = clock
        self.read = read
        let answers = read()
        sources = answers.count
        counters = Self.counters(answers)
        ring = Array(repeating: 0, count: counters.count * Self.limit)
        end = clock.now + Self.length
        setTimer()
    }

    /// The step that has not ended.
    var current: Step { step(difference(Self.counters(read()))[...]) }

    /// The steps that have ended since there were `number`, as far as they are held.
    func steps(after number: Int) -> [Step] {
        (max(number, count - Self.limit)..<max(number, count)).map { number in
            let start = number % Self.limit * counters.count
            return step(ring[start..<start + counters.count])
        }
    }

    private func setTimer() { timer = clock.schedule(at: end) { [weak self] in self?.endStep() } }

    private func endStep() {
        let now = Self.counters(read())
        append(difference(now))
        counters = now
        end = end + Self.length
        // A machine that slept: what it was awake for is in the first step.
        if end + Self.length * Self.limit < clock.now { end = clock.now - Self.length * Self.limit }
        while end <= clock.now {
            append(Array(repeating: 0, count: counters.count))
            end = end + Self.length
        }
        setTimer()
    }

    private func append(_ numbers: [UInt32]) {
        let start = count % Self.limit * counters.count
        ring.replaceSubrange(start..<start + counters.count, with: numbers)
        count += 1
    }

    private func difference(_ now: [UInt32]) -> [UInt32] { zip(now, counters).map { $0 &- $1 } }

    private func step(_ numbers: ArraySlice<UInt32>) -> Step {
        Step(answers: numbers.prefix(sources).map(Int.init), latencies: numbers.dropFirst(sources).map(Int.init))
    }

    /// The answers of each source, and behind them those of each bucket.
    private static func counters(_ answers: [TrafficReport.Latencies]) -> [UInt32] {
        var buckets = Array(repeating: 0, count: answers.first?.histogram.counts.count ?? 0)
        for answer in answers {
            for (index, count) in answer.histogram.counts.enumerated() { buckets[index] &+= count }
        }
        let sums = answers.map { $0.histogram.counts.reduce(0, &+) }
        return (sums + buckets).map { UInt32(truncatingIfNeeded: $0) }
    }
}

/// One reader of a history: each step is shown to it once.
@Loop
final class HistoryReader {
    private let history: TrafficHistory
    private var shown = 0

    init(_ history: TrafficHistory) { self.history = history }

    /// The steps that have ended since the last call; at the first call all that are held.
    func take() -> [TrafficHistory.Step] {
        defer { shown = history.count }
        return history.steps(after: shown)
    }
}
