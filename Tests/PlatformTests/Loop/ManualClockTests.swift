import Scheduling
import TestSupport
import Testing

@Suite(.onLoop) struct ManualClockTests {
    @Test @Loop func `time stands still until it is moved`() async {
        let clock = ManualClock()
        let inbox = Inbox<Int>()
        _ = clock.schedule(after: .seconds(1)) { inbox.add(1) }
        await clock.advance(by: .milliseconds(999))
        #expect(inbox.elements.isEmpty)
        await clock.advance(by: .milliseconds(1))
        #expect(inbox.elements == [1])
    }

    @Test @Loop func `every timer sees its own time as the present`() async {
        let clock = ManualClock(now: Instant(nanoseconds: 0))
        let inbox = Inbox<Int64>()
        for seconds in [3, 1, 2] {
            _ = clock.schedule(after: .seconds(seconds)) { inbox.add(clock.now.nanoseconds / 1_000_000_000) }
        }
        await clock.advance(by: .seconds(10))
        #expect(inbox.elements == [1, 2, 3])
        #expect(clock.now == Instant(nanoseconds: 10_000_000_000))
    }

    @Test @Loop func `a sleeper sleeps again inside one advance, at its own times`() async {
        let clock = ManualClock(now: Instant(nanoseconds: 0))
        let inbox = Inbox<Int64>()
        Loop.spawn {
            for _ in 0..<3 {
                await clock.sleep(until: clock.now + .seconds(2))
                inbox.add(clock.now.nanoseconds / 1_000_000_000)
            }
        }
        await clock.advance(by: .seconds(5))
        #expect(inbox.elements == [2, 4])
        await clock.advance(by: .seconds(1))
        #expect(inbox.elements == [2, 4, 6])
    }

    @Test @Loop func `a task that was started before is settled before time moves`() async {
        let clock = ManualClock()
        let start = clock.now
        let inbox = Inbox<Instant>()
        Loop.spawn { inbox.add(clock.now) }
        await clock.advance(by: .seconds(1))
        #expect(inbox.elements == [start])
    }
}
