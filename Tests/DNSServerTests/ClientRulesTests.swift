import DNSWire
import Platform
import TestServers
import TestSupport
import Testing

@testable import DNSServer

struct AccessListTests {
    @Test(arguments: [
        (
            ["127.0.0.0/8", "::1/128"], ["127.0.0.1", "127.255.255.255", "::1"],
            ["126.255.255.255", "128.0.0.0", "10.0.0.1", "::", "::2", "::7f00:1", "2001:db8::1"]
        ),
        ([], [], ["127.0.0.1", "::1"]),
        // This machine is not answered unless it is listed, and not all of it where one address is.
        (["10.0.0.0/8", "2001:db8::/32"], [], ["127.0.0.1", "::1"]),
        (["::/128", "::2/127"], [], ["::1"]),
        (["127.0.0.1/32"], ["127.0.0.1"], ["127.0.0.2"]),
        (
            ["192.0.2.7/32", "10.1.0.0/16", "2001:db8::/32"],
            ["10.1.0.0", "10.1.255.255", "192.0.2.7", "2001:db8:ffff::1"],
            ["10.2.0.0", "10.0.255.255", "192.0.2.6", "192.0.2.8", "2001:db9::"]
        ),
        // A prefix within another changes nothing.
        (
            ["10.0.0.0/8", "10.1.0.0/16", "10.255.0.0/16", "11.0.0.0/8"],
            ["10.0.0.0", "10.1.2.3", "10.200.0.1", "10.255.255.255", "11.0.0.0"], ["12.0.0.0"]
        ),
        (["0.0.0.0/0"], ["255.255.255.255"], ["2001:db8::1"]),
        (["::/0"], ["ffff:ffff:ffff:ffff:ffff:ffff:ffff:ffff"], ["127.0.0.1"]),
    ])
    func `a list answers the clients within its prefixes, and no neighbour`(
        prefixes: [String], answered: [String], others: [String]
    ) throws {
        let list = AccessList(prefixes.compactMap { AddressPrefix($0) })
        for client in answered { #expect(list.allows(try #require(IPAddress(client))), "\(client)") }
        for client in others { #expect(!list.allows(try #require(IPAddress(client))), "\(client)") }
    }
}

@Suite(.onLoop) struct RefusedClientsTests {
    @Test @Loop func `the first query of a client not allowed is reported at once, others once a second`() async throws
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

/// Which queries that are not taken on the UDP threads answer with SERVFAIL; the others are not answered.
struct RefusalLimitTests {
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
