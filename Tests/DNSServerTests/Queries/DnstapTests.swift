import DNSWire
import Platform
import Scheduling
import TestSupport
import Testing

@testable import DNSServer

/// The queue and the connection to a collector that is not there, or does nothing. A real one is in the integration tests.
@Suite struct DnstapTests {
    private static let exchange = Dnstap.Exchange(
        client: SocketAddress(ipv4: 0xc000_0201, port: 7), transport: .udp, queried: 0)

    private func dnstap(_ path: String, producers: Int = 1) throws -> Dnstap {
        try Dnstap(to: .unix(path), identity: "host", version: "program 1", producers: producers)
    }

    private func until(_ condition: () -> Bool) {
        let watch = Stopwatch()
        while !condition(), watch.fair < .patience {}
    }

    @Test func `without a collector everything is dropped, counted, and the reason known`() throws {
        let directory = try TemporaryDirectory()
        let dnstap = try dnstap(directory.path + "/none")
        until { dnstap.state != .connecting }
        #expect(dnstap.state == .unavailable(reason: "No such file or directory"))
        let message: [UInt8] = [1, 2, 3]
        dnstap.add(query: message.span, Self.exchange, by: 0)
        dnstap.add(response: message.span, Self.exchange, at: 1, by: 0)
        #expect(dnstap.counts == (0, 2))
        dnstap.stop()
        dnstap.add(query: message.span, Self.exchange, by: 0)
        #expect(dnstap.counts == (0, 3))
    }

    @Test func `a producer that was not announced adds nothing`() throws {
        let directory = try TemporaryDirectory()
        let dnstap = try dnstap(directory.path + "/none")
        dnstap.add(query: [1].span, Self.exchange, by: 1)
        #expect(dnstap.counts == (0, 0))
    }

    @Test func `the time of day of an instant is that of the system's clock`() {
        let (before, now) = (UTCTime.now, Instant.bootTime)
        let time = Dnstap.TimeOfDay()[now]
        #expect(UTCTime(milliseconds: Int64(time / 1_000_000)).description.prefix(16) >= before.description.prefix(16))
        #expect(Dnstap.TimeOfDay()[now + .seconds(1)] > time)
    }
}
