import Scheduling
import TestSupport
import Testing

@testable import DNSServer

@Suite(.onLoop) struct MemoryReturnTests {
    /// Counts how often memory is returned.
    @Loop
    private final class Count {
        var value = 0
    }

    private let clock = ManualClock()
    private let count = Count()

    @Loop private func makeReturn() -> MemoryReturn {
        MemoryReturn(clock: clock) { [count] in count.value += 1 }
    }

    @Test @Loop func `memory is returned once, a second after the end of a burst`() async {
        let memory = makeReturn()
        memory.burst()
        memory.emptied()
        await clock.advance(by: .milliseconds(999))
        #expect(count.value == 0)
        memory.emptied()
        await clock.advance(by: .milliseconds(1))
        #expect(count.value == 1)
        memory.emptied()
        await clock.advance(by: .seconds(60))
        #expect(count.value == 1)
    }

    @Test @Loop func `without a burst nothing is done, and nothing wakes the loop`() {
        makeReturn().emptied()
        #expect(clock.nextDue == nil)
    }

    @Test @Loop func `the next burst puts it off until that has ended`() async {
        let memory = makeReturn()
        memory.burst()
        memory.emptied()
        memory.burst()
        await clock.advance(by: .seconds(60))
        #expect(count.value == 0)
        memory.emptied()
        await clock.advance(by: .seconds(1))
        #expect(count.value == 1)
    }

    @Test @Loop func `many queries that waited are a burst, and a few are not`() async throws {
        for (queries, expected) in [(10, 0), (MemoryReturn.queries, 1)] {
            count.value = 0
            let fixture = try PendingQueriesTests.Fixture(memory: makeReturn())
            for index in 0..<queries { try fixture.add(.query("one.example", id: UInt16(index))) }
            fixture.responder.releaseForEver()
            await fixture.queries.drain()
            await clock.advance(by: .seconds(1))
            #expect(count.value == expected)
        }
    }
}
