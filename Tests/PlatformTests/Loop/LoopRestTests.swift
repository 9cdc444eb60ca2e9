import Scheduling
import Testing

@testable import Platform

@Suite struct LoopRestTests {
    /// A loop's rest after turns of 1 ms, in each of which it waits for `waits` microseconds.
    private func rest(waits: [Int]) -> LoopRest {
        var rest = LoopRest()
        var now = Instant(nanoseconds: 1_000_000_000)
        for wait in waits {
            let begin = now + .microseconds(1_000 - wait)
            now = now + .milliseconds(1)
            rest.waited(from: begin, until: now)
        }
        return rest
    }

    @Test func `a loop that never waits has no rest`() {
        #expect(rest(waits: Array(repeating: 0, count: 60)).isMissing)
    }

    @Test func `a loop that waits for a tenth of its time has some`() {
        #expect(rest(waits: Array(repeating: 90, count: 60)).isMissing)
        #expect(!rest(waits: Array(repeating: 110, count: 60)).isMissing)
    }

    @Test func `a busy moment is not yet a want of rest`() {
        #expect(!rest(waits: Array(repeating: 0, count: 40)).isMissing)
    }

    @Test func `one window with rest ends it`() {
        #expect(!rest(waits: Array(repeating: 0, count: 60) + Array(repeating: 500, count: 100)).isMissing)
    }
}
