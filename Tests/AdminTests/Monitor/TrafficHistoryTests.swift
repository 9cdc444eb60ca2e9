import DNSWire
import TestSupport
import Testing

@testable import Admin

/// What the charts of the page show of the time before it was opened.
@Suite(.onLoop) struct TrafficHistoryTests {
    /// Answers from memory, fast ones and slow ones; others.
    @Loop
    private final class Counters {
        var (fast, slow, failed, stale, calls, unanswered) = (0, 0, 0, 0, 0, 0)

        nonisolated init() {}

        var all: TrafficReport {
            func latencies(_ label: String, _ fast: Int, _ slow: Int = 0) -> TrafficReport.Latencies {
                let histogram = LatencyHistogram()
                histogram.add(nanoseconds: 1, count: fast)
                histogram.add(nanoseconds: .max, count: slow)
                return (label, histogram.total)
            }
            var report = TrafficReport()
            report.answers = [latencies("cache", fast, slow), latencies("none", failed), latencies("stale", stale)]
            (report.calls, report.unanswered) = (calls, unanswered)
            return report
        }
    }

    /// The clock of a machine that sleeps: its timers come late.
    @Loop
    private final class SleepyClock: LoopClock {
        private(set) var now = Instant(nanoseconds: 0)
        private var timer: LoopTimer?

        nonisolated init() {}

        func schedule(at instant: Instant, _ body: @escaping @Loop () -> Void) -> LoopTimer {
            let timer = LoopTimer(body)
            self.timer = timer
            return timer
        }

        func wake(after duration: Duration) {
            now = now + duration
            timer?.fire()
        }
    }

    private let counters = Counters()
    private let clock = ManualClock()
    private static let step = Duration.seconds(30)

    @Loop private func history() -> TrafficHistory { TrafficHistory(clock: clock) { [counters] in counters.all } }

    private func step(_ fast: Int, _ slow: Int = 0, calls: Int = 0) -> [UInt32] {
        let between = Array(repeating: 0, count: LatencyHistogram.bounds.count - 1)
        return ([fast + slow, 0, 0, fast] + between + [slow, calls, 0]).map { UInt32($0) }
    }

    @Test @Loop func `a step has the answers and the calls between its beginning and its end`() async {
        counters.fast = 7
        let history = history()
        (counters.fast, counters.calls) = (9, 4)
        #expect(history.current.hour == step(2, calls: 4))
        await clock.advance(by: Self.step)
        (counters.fast, counters.slow) = (10, 3)
        #expect(history.hour.steps(after: 0) == [step(2, calls: 4)])
        #expect(history.current.hour == step(1, 3))
    }

    @Test @Loop func `the last hour and the last day are held, and no more memory than for that`() async {
        for (seconds, isHour) in [(30, true), (720, false)] {
            let history = history()
            for number in 1...122 {
                counters.fast += number
                await clock.advance(by: .seconds(seconds))
            }
            #expect((isHour ? history.hour : history.day).steps(after: 0) == (3...122).map { step($0) })
        }
    }

    @Test @Loop func `the day has the same in steps of twelve minutes`() async {
        let history = history()
        for _ in 1...50 {
            counters.fast += 1
            await clock.advance(by: Self.step)
        }
        #expect(history.day.steps(after: 0) == [step(24), step(24)])
        #expect(history.current.day == step(2))
        #expect(history.day.elapsed(at: history.now) == .seconds(60))
    }

    @Test @Loop func `what a machine answered before it slept is in the first step, and the others have none`() {
        let clock = SleepyClock()
        let history = TrafficHistory(clock: clock) { [counters] in counters.all }
        counters.fast = 2
        clock.wake(after: .seconds(105))
        #expect(history.hour.steps(after: 0) == [step(2), step(0), step(0)])
        #expect(history.current.day == step(2))
        counters.fast = 3
        clock.wake(after: .seconds(1_000_000))
        #expect(history.hour.steps(after: 0) == [step(1)] + Array(repeating: step(0), count: 119))
    }

    @Test @Loop func `a reader gets each step once, and a new one all of them`() async {
        let history = history()
        var (seen, none) = ((hours: 0, days: 0), (hours: 0, days: 0))
        counters.fast = 1
        await clock.advance(by: Self.step)
        #expect(history.steps(after: &seen).hour == [step(1)])
        #expect(history.steps(after: &seen).hour == [])
        counters.fast = 3
        await clock.advance(by: Self.step)
        #expect(history.steps(after: &seen).hour == [step(2)])
        #expect(history.steps(after: &none).hour == [step(1), step(2)])
    }

    @Test @Loop func `counters that pass 32 bits are no trouble, and one that falls counts as none`() async {
        (counters.fast, counters.calls) = (Int(UInt32.max), 9)
        let history = history()
        (counters.fast, counters.calls) = (counters.fast + 5, 3)
        #expect(history.current.hour == step(5))
    }

    @Test @Loop func `what clients got is that of the last five minutes, and of none before`() async {
        let history = history()
        (counters.failed, counters.stale, counters.unanswered) = (2, 1, 3)
        #expect(history.recent == (6, 5, 1))
        await clock.advance(by: Self.step)
        counters.fast = 4
        #expect(history.recent == (10, 5, 1))
        await clock.advance(by: Self.step * 10)
        #expect(history.recent == (4, 0, 0))
        await clock.advance(by: Self.step)
        #expect(history.recent == (0, 0, 0))
    }

    @Test @Loop func `a history that is released has no timer left`() async {
        var history: TrafficHistory? = history()
        #expect(history?.current.hour == step(0))
        history = nil
        await clock.advance(by: Self.step)
        #expect(clock.nextDue == nil)
    }
}
