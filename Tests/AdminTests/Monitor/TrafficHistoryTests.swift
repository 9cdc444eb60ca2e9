import Scheduling
import TestSupport
import Testing

@testable import Admin

/// What the charts of the page show of the time before it was opened.
@Suite(.onLoop)
struct TrafficHistoryTests {
    /// Answers from memory, fast ones and slow ones.
    @Loop
    private final class Counters {
        var (fast, slow) = (0, 0)

        nonisolated init() {}

        var answers: [TrafficReport.Latencies] {
            [
                .init("cache", HistogramReport(bounds: [0.001], counts: [fast, slow], sum: 0)),
                .init("none", HistogramReport(bounds: [0.001], counts: [0, 0], sum: 0)),
            ]
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

    @Loop
    private func history() -> TrafficHistory { TrafficHistory(clock: clock) { [counters] in counters.answers } }

    private func step(_ fast: Int, _ slow: Int = 0) -> TrafficHistory.Step {
        .init(answers: [fast + slow, 0], latencies: [fast, slow])
    }

    @Test @Loop func `a step has the answers between its beginning and its end`() async {
        counters.fast = 7
        let history = history()
        counters.fast = 9
        #expect(history.current == step(2))
        await clock.advance(by: .seconds(10))
        (counters.fast, counters.slow) = (10, 3)
        #expect(history.steps(after: 0) == [step(2)])
        #expect(history.current == step(1, 3))
    }

    @Test @Loop func `the last hour is held, and no more memory than for that`() async {
        let history = history()
        for number in 1...TrafficHistory.limit + 2 {
            counters.fast += number
            await clock.advance(by: .seconds(10))
        }
        #expect(history.steps(after: 0) == (3...TrafficHistory.limit + 2).map { step($0) })
    }

    @Test @Loop func `what a machine answered before it slept is in the first step, and the others have none`() {
        let clock = SleepyClock()
        let history = TrafficHistory(clock: clock) { [counters] in counters.answers }
        counters.fast = 2
        clock.wake(after: .seconds(35))
        #expect(history.steps(after: 0) == [step(2), step(0), step(0)])
    }

    @Test @Loop func `a reader gets each step once, and a new one all of them`() async {
        let history = history()
        let reader = HistoryReader(history)
        counters.fast = 1
        await clock.advance(by: .seconds(20))
        #expect(reader.take() == [step(1), step(0)])
        #expect(reader.take() == [])
        counters.fast = 3
        await clock.advance(by: .seconds(10))
        #expect(reader.take() == [step(2)])
        #expect(HistoryReader(history).take() == [step(1), step(0), step(2)])
    }

    @Test @Loop func `counters that pass 32 bits are no trouble`() async {
        counters.fast = Int(UInt32.max)
        let history = history()
        counters.fast += 5
        #expect(history.current == step(5))
    }

    @Test @Loop func `a history that is released has no timer left`() async {
        var history: TrafficHistory? = history()
        #expect(history?.current == step(0))
        history = nil
        await clock.advance(by: .seconds(10))
        #expect(clock.nextDue == nil)
    }
}
