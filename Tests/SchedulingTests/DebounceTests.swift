import Scheduling
import TestSupport
import Testing

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
