import DNSWire
import TestSupport
import Testing

@testable import DNSServer

struct ServerLimitsTests {
    @Test func `what one connection holds is a 64th of what all hold, but at least a response and at most 256 KiB`() {
        var limits = ServerLimits()
        for (all, one) in [(64 << 20, 256 << 10), (16 << 20, 256 << 10), (8 << 20, 128 << 10), (1 << 20, 65_537)] {
            limits.buffered = all
            #expect(limits.queuedReplies == one)
        }
    }

    /// The table of limits in Documentation/Limits.md.
    @Test func `the limits are those that the documentation promises`() {
        let limits = ServerLimits()
        #expect(limits.mailbox == 8_192 && limits.intake == 64 && limits.backlogged == 192)
        #expect(limits.patience == .milliseconds(100) && limits.refusals == 10_000)
        #expect(limits.catchUp == .milliseconds(1_200) && limits.catchUp * 2 == limits.answer)
        #expect(limits.connections == 1_000 && limits.pendingPerConnection == 128 && limits.queuedReplies == 262_144)
        #expect(limits.idle == .seconds(10) && limits.handshake == .seconds(5) && TLSHandshake.stepsPerTurn == 2)
    }

    @Test(arguments: [(10_000, 100), (199, 1), (99, 0), (10_000_000, 65_535)])
    func `clients are sent the idle time-out in tenths of a second, as far as the field goes`(
        milliseconds: Int, keepalive: UInt16
    ) {
        var limits = ServerLimits()
        limits.idle = .milliseconds(milliseconds)
        #expect(limits.keepalive == keepalive)
    }
}
