import DNSResolver
import DNSWire
import TestSupport
import TestUpstreams
import Testing

struct AddressHealthTests {
    private func at(_ seconds: Double) -> Instant { Instant(nanoseconds: 0) + .seconds(seconds) }

    @Test func `a question without an answer makes an address suspect, and no more`() {
        let health = AddressHealth()
        health.failed("no answer in time", at: at(1))
        #expect(health.isSuspect(since: at(0), at: at(1)) && health.isUsable)
    }

    @Test func `an address that answered another question meanwhile is not suspect`() {
        let health = AddressHealth()
        health.answered(at: at(0.5))
        #expect(!health.isSuspect(since: at(0), at: at(1)))
        #expect(health.isSuspect(since: at(0.6), at: at(1.6)))
    }

    @Test func `an answer ends a backoff`() {
        let health = AddressHealth()
        health.backoff.failed(at: at(1))
        #expect(!health.isUsable)
        health.answered(at: at(1.2))
        #expect(health.isUsable)
    }

    @Test func `what was begun in another network has no effect any more`() {
        let health = AddressHealth()
        health.backoff.failed(at: at(1))
        health.networkChanged(at: at(2))
        #expect(health.isUsable && health.isOutdated(at(1.9)) && !health.hasAnswered(since: at(1.9)))
    }

    @Test func `what is known of its speed survives failures and successes`() {
        let health = AddressHealth()
        health.measured(.milliseconds(20))
        health.backoff.failed(at: at(1))
        health.answered(at: at(2))
        #expect(health.responseTime == .milliseconds(20))
    }

    @Test func `the average follows the last replies`() {
        let health = AddressHealth()
        for _ in 0..<50 { health.measured(.milliseconds(100)) }
        health.measured(.milliseconds(20))
        #expect(health.responseTime == .milliseconds(90))
    }
}
