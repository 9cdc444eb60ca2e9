import DNSWire
import TestSupport
import Testing

/// The events so far.
@Loop
private final class Log<Element: Sendable>: Sendable {
    var elements: [Element] = []

    nonisolated init() {}
}

@Suite(.onLoop) struct SleepTests {
    private let clock = ManualClock()

    /// Starts a task that sleeps for this time, and then logs whether the instant was reached.
    @Loop private func sleeper(for duration: Duration, _ log: Log<Bool>) -> Task<Void, Never> {
        let (clock, due) = (clock, clock.now + duration)
        return Loop.spawn { log.elements.append(await clock.sleep(until: due)) }
    }

    @Test @Loop func `a sleep lasts until its instant is reached, and says so`() async {
        let log = Log<Bool>()
        _ = sleeper(for: .seconds(1), log)
        await clock.advance(by: .milliseconds(999))
        #expect(log.elements.isEmpty)
        await clock.advance(by: .milliseconds(1))
        #expect(log.elements == [true])
    }

    @Test @Loop func `a sleep until an instant that is past ends without time moving on`() async {
        let log = Log<Bool>()
        _ = sleeper(for: .seconds(-1), log)
        await clock.advance(by: .zero)
        #expect(log.elements == [true])
    }

    @Test @Loop func `a cancelled sleep ends at once, and its instant ends it no second time`() async {
        let log = Log<Bool>()
        let task = sleeper(for: .seconds(1), log)
        await Loop.executor.idle()
        task.cancel()
        await Loop.executor.idle()
        #expect(log.elements == [false])
        await clock.advance(by: .seconds(2))
        #expect(log.elements == [false])
    }

    @Test @Loop func `a sleep in a task that was cancelled before does not begin`() async {
        let log = Log<Bool>()
        sleeper(for: .seconds(1), log).cancel()
        await Loop.executor.idle()
        #expect(log.elements == [false])
    }

    @Test @Loop func `a sleep that was cancelled leaves the others asleep`() async {
        let log = Log<Bool>()
        let first = sleeper(for: .seconds(1), log)
        _ = sleeper(for: .seconds(1), log)
        await Loop.executor.idle()
        first.cancel()
        await Loop.executor.idle()
        #expect(log.elements == [false])
        await clock.advance(by: .seconds(1))
        #expect(log.elements == [false, true])
    }
}

@Suite(.onLoop) struct LoopTimerTests {
    private let clock = ManualClock()

    @Test @Loop func `a timer fires at its instant, once`() async {
        let log = Log<Int>()
        let timer = clock.schedule(after: .seconds(1)) { log.elements.append(1) }
        #expect(timer.isPending)
        await clock.advance(by: .seconds(1))
        #expect(!timer.isPending)
        timer.fire()
        #expect(log.elements == [1])
    }

    @Test @Loop func `a cancelled timer never fires`() async {
        let log = Log<Int>()
        let timer = clock.schedule(after: .seconds(1)) { log.elements.append(1) }
        timer.cancel()
        #expect(!timer.isPending)
        await clock.advance(by: .seconds(2))
        // Not even when a clock has already removed it in order to fire it.
        timer.fire()
        #expect(log.elements.isEmpty)
    }

    @Test @Loop func `a cancelled timer lets go of what it held`() {
        var log: Log<Int>? = Log()
        weak let held = log
        let timer = LoopTimer { [log] in log?.elements.append(1) }
        log = nil
        #expect(held != nil)
        timer.cancel()
        #expect(held == nil)
    }

    @Test @Loop func `a timer counts as run while its work runs`() {
        let log = Log<LoopTimer>()
        let pending = Log<Bool>()
        let timer = LoopTimer { pending.elements = log.elements.map(\.isPending) }
        log.elements.append(timer)
        timer.fire()
        #expect(pending.elements == [false])
    }
}
