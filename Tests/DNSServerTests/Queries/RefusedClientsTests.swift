import DNSWire
import Platform
import Scheduling
import TestServers
import TestSupport
import Testing

@testable import DNSServer

@Suite(.onLoop) struct RefusedClientsTests {
    @Test @Loop func `the first query of a client that is not allowed is reported at once, and others once a second`()
        async throws
    {
        let (clock, log) = (ManualClock(), LogRecorder())
        let refused = RefusedClients()
        refused.report(to: EventLog(log.logger, clock: clock)) {
            "client \($0) is not in listen.allow and gets REFUSED (\($1) queries refused since the start)"
        }
        let client = try #require(IPAddress("192.0.2.1"))
        for _ in 0..<3 { refused.add(client, at: clock.now) }
        await clock.advance(by: .milliseconds(999))
        #expect(
            log.lines == [
                "client 192.0.2.1 is not in listen.allow and gets REFUSED (3 queries refused since the start)"
            ])
        refused.add(client, at: clock.now)
        await clock.advance(by: .milliseconds(1))
        // The log itself has one line a minute: this one is held until then.
        refused.add(client, at: clock.now)
        await clock.advance(by: .seconds(60))
        #expect(log.lines.count == 2 && log.lines.last?.contains("5 queries refused") == true)
        #expect(refused.count == 5)
    }
}
