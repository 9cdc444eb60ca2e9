import DNSWire
import Logging
import TestSupport
import Testing

@testable import Platform

/// How often messages are logged, on a clock that the test moves.
@Suite(.onLoop) struct EventLogTests {
    @Loop
    private final class Fixture {
        let clock = ManualClock()
        let recorder = LogRecorder()
        let events: EventLog
        var lines: [String] { recorder.lines }

        init(level: Logger.Level = .trace) {
            var logger = recorder.logger
            logger.logLevel = level
            events = EventLog(logger, clock: clock)
        }

        func fail(_ text: String, about subject: String = "protect", _ kind: LogKind = .answerFailed) {
            events.report(LogMessage(kind, about: subject, text))
        }
    }

    @Test @Loop func `the first is logged at once, the others as one line when the minute is over`() async {
        let fixture = Fixture()
        for number in 0..<10_000 { fixture.fail("n\(number).example") }
        #expect(fixture.lines == ["n0.example"])
        await fixture.clock.advance(by: .seconds(60))
        #expect(
            fixture.lines.dropFirst() == ["n9999.example (again 9999 times in the last minute, lastly 60 s ago)"])
    }

    @Test @Loop func `each kind and each subject has its own turn`() {
        let fixture = Fixture()
        for _ in 0..<10 {
            fixture.fail("a", about: "192.0.2.1:443", .providerBackoff)
            fixture.fail("b", about: "192.0.2.2:443", .providerBackoff)
            fixture.fail("c", about: "192.0.2.1:443", .providerAddressBack)
        }
        #expect(fixture.lines == ["a", "b", "c"])
    }

    @Test @Loop func `what follows within the minute is said at its end, and leaves no timer`() async {
        let fixture = Fixture()
        fixture.fail("a")
        #expect(fixture.clock.nextDue == nil)
        await fixture.clock.advance(by: .seconds(40))
        for text in ["b", "c"] { fixture.fail(text) }
        #expect(fixture.clock.nextDue == fixture.clock.now + .seconds(20))
        await fixture.clock.advance(by: .seconds(20))
        #expect(fixture.lines == ["a", "c (again 2 times in the last minute, lastly 20 s ago)"])
        #expect(fixture.clock.nextDue == nil)
        await fixture.clock.advance(by: .seconds(59))
        fixture.fail("d")
        await fixture.clock.advance(by: .seconds(1))
        #expect(fixture.lines.dropFirst(2) == ["d (again once in the last minute, lastly 1 s ago)"])
    }

    @Test @Loop func `a subject's minute does not depend on another's`() async {
        let fixture = Fixture()
        for _ in 0..<2 { fixture.fail("a", about: "a") }
        await fixture.clock.advance(by: .seconds(30))
        fixture.fail("b", about: "b")
        await fixture.clock.advance(by: .seconds(31))
        fixture.fail("B", about: "b")
        fixture.fail("c", about: "c")
        #expect(fixture.lines == ["a", "b", "a (again once in the last minute, lastly 60 s ago)", "c"])
        await fixture.clock.advance(by: .seconds(30))
        #expect(fixture.lines.last == "B (again once in the last minute, lastly 29 s ago)")
        await fixture.clock.advance(by: .seconds(30))
        for text in ["a", "c"] { fixture.fail(text + text, about: text) }
        #expect(fixture.lines.suffix(2) == ["aa", "cc"])
    }

    @Test @Loop func `subjects whose minute is over leave their places to others`() async {
        let fixture = Fixture()
        for minute in 1...3 {
            for number in 0..<EventLog.subjectLimit {
                fixture.fail("x", about: "\(minute) \(number)", .providerBackoff)
            }
            #expect(fixture.lines.count == minute * EventLog.subjectLimit)
            await fixture.clock.advance(by: EventLog.interval)
        }
    }

    @Test @Loop func `subjects without end are one subject`() async {
        let fixture = Fixture()
        for number in 0..<10_000 { fixture.fail("x", about: "\(number)", .providerBackoff) }
        #expect(fixture.lines.count <= EventLog.subjectLimit + 1)
        await fixture.clock.advance(by: .seconds(60))
        #expect(fixture.lines.count <= EventLog.subjectLimit + 2)
    }

    @Test @Loop func `what the level leaves out is not counted either`() async {
        let fixture = Fixture(level: .error)
        for _ in 0..<10 { fixture.fail("a") }
        await fixture.clock.advance(by: .seconds(60))
        #expect(fixture.lines.isEmpty)
    }

    @Test @Loop func `what was counted is said at the end, and then nothing is due any more`() {
        let fixture = Fixture()
        for subject in ["a", "b"] { for _ in 0..<2 { fixture.fail(subject, about: subject) } }
        fixture.events.finish()
        let rest = " (again once in the last minute, lastly 0 s ago)"
        #expect(fixture.lines.prefix(2) == ["a", "b"] && fixture.lines.suffix(2).sorted() == ["a" + rest, "b" + rest])
        #expect(fixture.clock.nextDue == nil)
    }
}
