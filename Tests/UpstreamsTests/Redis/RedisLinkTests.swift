import DNSWire
import Platform
import TestSupport
import TestUpstreams
import Testing

@testable import Upstreams

/// The way to a Redis, on a clock that the test moves.
@Suite(.onLoop) struct RedisLinkTests {
    private let redis = FakeRedis()

    @Test @Loop func `nothing is connected before a command is to be sent, and one connection serves all`() {
        let link = redis.link()
        #expect(redis.channels.isEmpty)
        #expect(link.usable() === redis.last)
        #expect(link.usable() === redis.last)
        #expect(redis.channels.count == 1)
    }

    @Test @Loop func `after a failure nothing is sent for a second, and then one probe that ends the backoff`() async {
        let link = redis.link()
        _ = link.usable()
        redis.last?.events.end("gone", true)
        #expect(redis.events == ["gone"])
        await redis.clock.advance(by: .milliseconds(900))
        #expect(link.usable() == nil && redis.channels.count == 1)
        await redis.clock.advance(by: .milliseconds(400))
        #expect(link.usable() == nil && link.usable() == nil)
        #expect(redis.channels.count == 2 && redis.last?.sent == ["PING"])
        redis.last?.reply(.status("PONG"))
        #expect(redis.events == ["gone", nil])
        #expect(link.usable() === redis.last)
    }

    @Test @Loop func `without a command there is no probe: an idle server stays idle`() async {
        let link = redis.link()
        _ = link.usable()
        redis.last?.events.end("gone", true)
        await redis.clock.advance(by: .seconds(600))
        #expect(redis.channels.count == 1)
        #expect(redis.clock.nextDue == nil)
        #expect(link.usable() == nil)
    }

    @Test @Loop func `a probe without a reply within two seconds begins a longer backoff, and is said once`() async {
        let link = redis.link()
        _ = link.usable()
        redis.last?.events.end("gone", true)
        await redis.clock.advance(by: .milliseconds(1_300))
        _ = link.usable()
        await redis.clock.advance(by: .seconds(2))
        #expect(redis.last?.isClosed == true)
        await redis.clock.advance(by: .milliseconds(1_300))
        _ = link.usable()
        #expect(redis.channels.count == 2)
        await redis.clock.advance(by: .seconds(1.3))
        _ = link.usable()
        #expect(redis.channels.count == 3)
        #expect(redis.events == ["gone"])
    }

    @Test @Loop func `a connection that ends while nothing is awaited is made again by the next command`() {
        let link = redis.link()
        _ = link.usable()
        redis.last?.events.end("closed", false)
        #expect(link.usable() === redis.last)
        #expect(redis.channels.count == 2)
        #expect(redis.events.isEmpty)
    }

    @Test(arguments: [true, false]) @Loop
    func `who listens on a connection learns of its end, whoever has ended it`(isOurs: Bool) {
        let link = redis.link()
        var ends = 0
        link.onEnd = { ends += 1 }
        _ = link.usable()
        if isOurs { link.networkChanged() } else { redis.last?.events.end("closed", false) }
        #expect(ends == 1)
        link.networkChanged()
        #expect(ends == 1)
    }

    @Test @Loop func `a host that has another address takes the connection there`() async throws {
        let link = redis.link("redis.example.com")
        #expect(link.usable() == nil)
        await redis.clock.advance(by: .zero)
        _ = link.usable()
        #expect(redis.last?.address == SocketAddress("192.0.2.1:6379", defaultPort: 0))
        redis.bootstrap.behaviour = .addresses("192.0.2.2")
        await redis.clock.advance(by: .seconds(61))
        _ = link.usable()
        await redis.clock.advance(by: .zero)
        #expect(redis.channels.first?.isClosed == true)
        #expect(link.usable() === redis.last)
        #expect(redis.last?.address == SocketAddress("192.0.2.2:6379", defaultPort: 0))
        #expect(redis.events.isEmpty)
    }

    @Test @Loop func `a connection that works is not left for the address that failed before it`() async {
        let link = redis.link("redis.example.com")
        _ = link.usable()
        await redis.clock.advance(by: .zero)
        _ = link.usable()
        // Its failure has every source asked, of which one has another address.
        redis.bootstrap.behaviour = .addresses("192.0.2.1", "192.0.2.2")
        await redis.clock.advance(by: .seconds(11))
        redis.last?.events.end("gone", true)
        await redis.clock.advance(by: .zero)
        // In backoff: a probe at the first address, and one at the second.
        for _ in 0..<2 {
            await redis.clock.advance(by: .seconds(3))
            _ = link.usable()
            if redis.last?.address == SocketAddress("192.0.2.2:6379", defaultPort: 0) {
                redis.last?.reply(.status("PONG"))
            } else {
                redis.last?.events.end("refused", true)
            }
        }
        let working = redis.last
        #expect(working?.address == SocketAddress("192.0.2.2:6379", defaultPort: 0))
        redis.bootstrap.behaviour = .addresses("192.0.2.1")
        await redis.clock.advance(by: .seconds(61))
        _ = link.usable()
        await redis.clock.advance(by: .zero)
        #expect(link.usable() === working && working?.isClosed == false)
        // Unless the one that works is not the master any more.
        link.doubtAddress()
        await redis.clock.advance(by: .seconds(11))
        _ = link.usable()
        await redis.clock.advance(by: .zero)
        #expect(link.usable() === redis.last && redis.last !== working)
    }

    @Test @Loop func `who needs a connection waits for the look-up of the host, and leaves no timer`() async {
        redis.bootstrap.behaviour = .addresses("192.0.2.1", after: .milliseconds(20))
        let link = redis.link("redis.example.com")
        let deadline = redis.clock.now + .seconds(1)
        let waiting = Task { @Loop in await link.reached(until: deadline) != nil }
        await redis.clock.advance(by: .milliseconds(20))
        #expect(await waiting.value)
        #expect(redis.last?.address == SocketAddress("192.0.2.1:6379", defaultPort: 0))
        #expect(redis.clock.nextDue == nil)
    }

    @Test @Loop func `a host without an address is why there is no connection`() async {
        redis.bootstrap.behaviour = .failure(.timeout)
        let link = redis.link("redis.example.com")
        let deadline = redis.clock.now + .seconds(1)
        let waiting = Task { @Loop in await link.reached(until: deadline) == nil }
        await redis.clock.advance(by: .seconds(1))
        #expect(await waiting.value)
        #expect(link.lastFailure == "no source has an address of its host")
    }

    @Test @Loop func `a server that is not the master any more is looked up again before its TTL ends`() async {
        let link = redis.link("redis.example.com")
        redis.bootstrap.behaviour = .addresses("192.0.2.1", ttl: 3_600)
        _ = link.usable()
        await redis.clock.advance(by: .seconds(11))
        _ = link.usable()
        redis.bootstrap.behaviour = .addresses("192.0.2.2", ttl: 3_600)
        link.doubtAddress()
        await redis.clock.advance(by: .zero)
        _ = link.usable()
        #expect(redis.last?.address == SocketAddress("192.0.2.2:6379", defaultPort: 0))
    }
}
