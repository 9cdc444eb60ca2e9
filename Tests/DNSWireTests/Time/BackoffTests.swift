import DNSWire
import TestSupport
import Testing

struct BackoffTests {
    private func at(_ seconds: Double) -> Instant { Instant(nanoseconds: 0) + .seconds(seconds) }

    /// A backoff that began at second 0.
    private func begun() -> Backoff {
        var backoff = Backoff()
        backoff.failed(at: at(0))
        return backoff
    }

    @Test func `without a failure nothing is due`() {
        let backoff = Backoff()
        #expect(!backoff.isActive && !backoff.isDue(at: at(9), isUrgent: true))
    }

    @Test func `a probe is due after a second, where nothing else is left after a quarter of one`() {
        let backoff = begun()
        #expect(!backoff.isDue(at: at(0.9), isUrgent: false) && backoff.isDue(at: at(1), isUrgent: false))
        #expect(!backoff.isDue(at: at(0.2), isUrgent: true) && backoff.isDue(at: at(0.25), isUrgent: true))
    }

    @Test func `each failed probe doubles the pause up to thirty seconds`() {
        var backoff = begun()
        var taken: [Duration] = []
        for second in 1...7 { taken.append(backoff.failed(at: at(Double(second)))) }
        #expect(taken == [2, 4, 8, 16, 30, 30, 30].map { .seconds($0) })
    }

    @Test func `where nothing else is left a probe is due each second at the latest`() {
        var backoff = begun()
        for second in 1...7 { backoff.failed(at: at(Double(second))) }
        #expect(!backoff.isDue(at: at(7.9), isUrgent: true) && backoff.isDue(at: at(8), isUrgent: true))
    }

    @Test func `of many questions that come when it is due one probes`() {
        var backoff = begun()
        backoff.probeBegan(1)
        #expect(!backoff.isDue(at: at(5), isUrgent: true) && !backoff.isDue(at: at(5), isUrgent: false))
        backoff.probeEnded(1)
        #expect(backoff.isDue(at: at(5), isUrgent: false))
    }

    @Test func `the end of an older probe leaves the one under way as it is`() {
        var backoff = begun()
        backoff.probeBegan(1)
        backoff.probeBegan(2)
        backoff.probeEnded(1)
        #expect(backoff.isProbing)
        backoff.probeEnded(2)
        #expect(!backoff.isProbing)
    }

    @Test func `a server that says when to come back is not probed before, but where nothing else is left`() {
        var backoff = begun()
        for second in 1...5 { backoff.failed(at: at(Double(second))) }
        #expect(backoff.failed(at: at(6), notBefore: at(66)) == .seconds(60))
        #expect(!backoff.isDue(at: at(65), isUrgent: false) && backoff.isDue(at: at(66), isUrgent: false))
        #expect(!backoff.isDue(at: at(6.9), isUrgent: true) && backoff.isDue(at: at(7), isUrgent: true))
    }

    @Test func `one success clears everything`() {
        var backoff = begun()
        for second in 1...5 { backoff.failed(at: at(Double(second))) }
        backoff.succeeded()
        #expect(!backoff.isActive)
        #expect(backoff.failed(at: at(9)) == .seconds(1))
    }
}

@Suite(.onLoop) struct DebounceTests {
    @Loop private final class Calls {
        var instants: [Duration] = []
    }

    @Loop private func make(_ clock: ManualClock, _ calls: Calls) -> Debounce {
        let start = clock.now
        return Debounce(quiet: .milliseconds(200), longest: .seconds(1), clock: clock) {
            calls.instants.append(clock.now - start)
        }
    }

    @Test @Loop func `a burst is one call, once it is over`() async {
        let (clock, calls) = (ManualClock(), Calls())
        let debounce = make(clock, calls)
        for _ in 0..<3 {
            debounce.touch()
            await clock.advance(by: .milliseconds(100))
        }
        #expect(calls.instants.isEmpty)
        await clock.advance(by: .seconds(5))
        #expect(calls.instants == [.milliseconds(400)])
    }

    @Test @Loop func `what never rests is reported once a second`() async {
        let (clock, calls) = (ManualClock(), Calls())
        let debounce = make(clock, calls)
        for _ in 0..<25 {
            debounce.touch()
            await clock.advance(by: .milliseconds(100))
        }
        #expect(calls.instants == [.milliseconds(1_000), .milliseconds(2_000)])
    }
}

@Suite(.onLoop) struct TurnstileTests {
    @Test @Loop func `one passes at a time, in the order in which they came`() async {
        let clock = ManualClock()
        let turnstile = Turnstile()
        let log = Log()
        for number in 1...3 {
            Loop.spawn {
                let passed = await turnstile.pass {
                    log.lines.append("in \(number)")
                    await clock.sleep(until: clock.now + .seconds(1))
                    log.lines.append("out \(number)")
                    return number
                }
                #expect(passed == number)
            }
        }
        await clock.advance(by: .seconds(10))
        #expect(log.lines == ["in 1", "out 1", "in 2", "out 2", "in 3", "out 3"])
    }

    @Loop
    private final class Log {
        var lines: [String] = []
    }
}
