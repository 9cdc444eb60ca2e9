import DNSWire
import TestSupport
import Testing

@testable import DNSResolver

/// Which questions are not asked again, and for how long.
@Suite(.onLoop) struct FailureMemoryTests {
    private let memory = FailureMemory()

    private func at(_ seconds: Int64) -> Instant { Instant(nanoseconds: seconds * 1_000_000_000) }

    private func key(_ name: String, route: Route = .bypass) throws -> FlightKey {
        FlightKey(name: try Name(name), type: .a, route: route, dnssecOK: false, checkingDisabled: false)
    }

    /// Records the failure of a question that was asked at the same time.
    @Loop private func fail(_ key: FlightKey, at now: Instant) {
        memory.failed(key, .a, error: ExtendedError(.other, "refused"), at: now, asked: now)
    }

    @Loop private func isRemembered(_ key: FlightKey, at now: Instant) -> Bool {
        memory.remembered(key, .a, at: now) != nil
    }

    @Test @Loop
    func `a question that fails is not asked again for one second, then for two, and from then on for five`() throws {
        let key = try key("www.example.com")
        var now = at(0)
        for pause in [1, 2, 5, 5] as [Int64] {
            fail(key, at: now)
            let end = now + .seconds(pause)
            #expect(isRemembered(key, at: end - .nanoseconds(1)) && !isRemembered(key, at: end))
            now = end
        }
    }

    @Test(arguments: [(59, 2), (60, 1)] as [(Int64, Int64)]) @Loop
    func `a question that was not asked for a minute after its pause begins with the shortest one again`(
        wait: Int64, pause: Int64
    ) throws {
        let key = try key("www.example.com")
        fail(key, at: at(0))
        let again = at(1 + wait)
        fail(key, at: again)
        let end = again + .seconds(pause)
        #expect(isRemembered(key, at: end - .nanoseconds(1)) && !isRemembered(key, at: end))
    }

    @Test @Loop func `where clients had a stale answer the pause ends with that`() throws {
        let key = try key("www.example.com")
        memory.failed(
            key, .a, error: ExtendedError(.other, "refused"), at: at(0), asked: at(0), hasStale: true)
        #expect(memory.remembered(key, .a, at: at(0), hasStale: true) != nil)
        #expect(memory.remembered(key, .a, at: at(0), hasStale: false) == nil)
    }

    @Test @Loop func `a failure of what was asked before a provider came back, or just then, is not remembered`() throws
    {
        let key = try key("www.example.com")
        fail(key, at: at(10))
        let recoveries = [9, 10, 11].map { memory.remembered(key, .a, at: at(10), recovery: at($0)) != nil }
        #expect(recoveries == [true, false, false])
    }

    @Test @Loop func `an answer ends the failure of its question alone`() throws {
        let (own, other) = (try key("a.example"), try key("b.example"))
        for key in [own, other] { fail(key, at: at(0)) }
        memory.answered(own, .a)
        #expect(!isRemembered(own, at: at(0)) && isRemembered(other, at: at(0)))
        memory.answered(other, .a)
        #expect(memory.isEmpty)
    }

    @Test @Loop func `ten thousand questions are remembered, and one more clears the memory`() throws {
        for number in 0..<10_000 { fail(try key("n\(number).example"), at: at(0)) }
        let (first, more) = (try key("n0.example"), try key("more.example"))
        #expect(isRemembered(first, at: at(0)))
        fail(more, at: at(0))
        #expect(!isRemembered(first, at: at(0)) && isRemembered(more, at: at(0)))
    }
}
