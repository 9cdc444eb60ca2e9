import DNSWire
import Platform
import TestSupport
import Testing

/// Repeatedly sets a timer that is due at once.
@Loop
private final class Repeater: Sendable {
    var isRunning = true
    private let loop: EventLoop

    init(_ loop: EventLoop) { self.loop = loop }

    func again() { _ = loop.schedule(at: loop.now) { if self.isRunning { self.again() } } }
}

@Suite(.onLoop) struct TimerTests {
    private var loop: EventLoop { LoopRunner.shared.loop }

    @Test @Loop func `timers fire in the order of their time, equal ones as they were set`() async {
        let inbox = Inbox<Int>()
        let start = loop.now
        for (milliseconds, number) in [(9, 4), (3, 1), (6, 2), (6, 3), (1, 0)] {
            _ = loop.schedule(at: start + .milliseconds(milliseconds)) { inbox.add(number) }
        }
        #expect(await inbox.wait(for: 5) == [0, 1, 2, 3, 4])
    }

    @Test(arguments: [0, 1, 300, 2_000]) @Loop func `a timer never fires early`(microseconds: Int) async {
        let due = loop.now + .microseconds(microseconds)
        await loop.sleep(until: due)
        #expect(loop.now >= due)
        #expect(Instant.bootTime >= due)
    }

    @Test @Loop func `a timer set for the past fires, but not before schedule returns`() async {
        let inbox = Inbox<String>()
        _ = loop.schedule(at: loop.now - .seconds(5)) { inbox.add("fired") }
        inbox.add("returned")
        #expect(await inbox.wait(for: 2) == ["returned", "fired"])
    }

    @Test @Loop func `a timer cancelled by another that is due at the same time does not fire`() async {
        let inbox = Inbox<Int>()
        let due = loop.now + .milliseconds(1)
        let timers = Inbox<LoopTimer>()
        _ = loop.schedule(at: due) {
            inbox.add(1)
            timers.elements.first?.cancel()
        }
        timers.add(loop.schedule(at: due) { inbox.add(2) })
        _ = loop.schedule(at: due) { inbox.add(3) }
        #expect(await inbox.wait(for: 2) == [1, 3])
    }

    @Test @Loop func `a timer that sets itself again for now does not starve the loop`() async throws {
        let inbox = Inbox<Int>()
        let repeater = Repeater(loop)
        repeater.again()
        let thread = try NamedThread("other") { Loop.spawn { inbox.add(1) } }
        #expect(await inbox.wait(for: 1) == [1])
        repeater.isRunning = false
        thread.join()
    }

    @Test @Loop func `timers that are all cancelled take no more and more room`() {
        var timers = TimerQueue()
        let active = LoopTimer {}
        timers.add(active, at: Instant(nanoseconds: 0))
        for number in 1...10_000 {
            let timer = LoopTimer {}
            timers.add(timer, at: Instant(nanoseconds: Int64(number)))
            timer.cancel()
        }
        #expect(timers.count <= 64)
        #expect(timers.popDue(at: Instant(nanoseconds: 1)) === active)
        #expect(timers.nextDue() == nil)
    }

    @Test @Loop func `timers come sorted, also after the cancelled ones were cleaned away`() {
        var timers = TimerQueue()
        var expected: [Int64] = []
        var random = SystemRandomNumberGenerator()
        for number in 0..<5_000 {
            let time = Int64.random(in: 0..<1_000, using: &random)
            let timer = LoopTimer {}
            timers.add(timer, at: Instant(nanoseconds: time))
            if number % 3 == 0 { expected.append(time) } else { timer.cancel() }
        }
        var handedOut: [Int64] = []
        while let due = timers.nextDue() {
            handedOut.append(due.nanoseconds)
            _ = timers.popDue(at: due)
        }
        #expect(handedOut == expected.sorted())
        #expect(timers.count == 0)
    }
}
