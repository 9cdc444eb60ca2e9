import Scheduling
import Testing

@testable import DNSServer

/// Which queries that are not taken on the UDP threads answer with SERVFAIL; the others are not answered.
@Suite struct RefusalLimitTests {
    /// How many of `count` refusals at a time, in milliseconds, are answered.
    private func answered(by limit: RefusalLimit, _ count: Int, at time: Int64) -> Int {
        (0..<count).count { _ in limit.refuse(at: Instant(nanoseconds: time * 1_000_000)) }
    }

    @Test func `each refusal is answered up to the limit, and then none until the next second`() {
        let limit = RefusalLimit(20)
        #expect(answered(by: limit, 20, at: 1_000) == 20)
        #expect(answered(by: limit, 50, at: 1_999) == 0)
        #expect(answered(by: limit, 50, at: 2_000) == 20)
        #expect(limit.counts == (120, 80))
    }
}
