import Scheduling
import TestSupport
import Testing

@Suite(.onLoop)
struct TurnstileTests {
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
