import DNSCache
import DNSResolver
import DNSWire
import TestSupport
import TestUpstreams
import Testing

/// A client chooses its names and how their servers behave: that never makes another client's name lose its provider.
@Suite(.onLoop) struct AttackerTests {
    /// What the domain of an attacker may cause at an honest service.
    static let outcomes: [FakeBehaviour] = [
        .silence,
        .failure(.timeout, after: .seconds(1)),
        .failure(.slow, after: .seconds(1)),
        .failure(.unusable("HTTP 500")),
        .failure(.unusable("unreadable body")),
        .failure(.unusable("HTTP 403")),
        .failure(.busy("HTTP 429", retryAfter: .seconds(60))),
        .failure(.network("the stream was reset")),
        .failure(.certificate("no certificate")),
        .failure(.authentication("InvalidSignature")),
        .failure(.rejected("the response is too large")),
        .failure(.refused("HTTP 400")),
        .failure(.responseCode(.serverFailure)),
    ]

    @Test(arguments: outcomes.indices) @Loop
    func `whatever becomes of one client's names, the names of others are answered by the provider`(index: Int) async {
        let machine = Machine()
        machine.vendor.probeBehaviour = .addresses("192.0.2.1")
        for round in 0..<40 {
            machine.vendor.behaviour = Self.outcomes[index]
            machine.start("r\(round).slow.example", .a)
            await machine.clock.advance(by: .milliseconds(400))
            machine.vendor.behaviour = .addresses("192.0.2.1")
            #expect(await machine.ask("n\(round).example.com").has("192.0.2.1"))
            await machine.clock.advance(by: .milliseconds(200))
        }
    }

    @Test @Loop func `slow names of a client cost a probe in five seconds at most`() async {
        let machine = Machine()
        machine.vendor.behaviour = .failure(.timeout, after: .seconds(1))
        machine.vendor.probeBehaviour = .addresses("192.0.2.1")
        for round in 0..<60 {
            machine.start("r\(round).slow.example", .a)
            await machine.clock.advance(by: .seconds(1))
        }
        #expect((2...13).contains(machine.vendor.probes.count))
        #expect(machine.vendor.health.isUsable)
    }

    @Test @Loop func `a provider that is down is detected by one question and its probe, and costs no more`() async {
        let machine = Machine()
        machine.vendor.behaviour = .silence
        machine.start("first.example.com", .a)
        await machine.clock.advance(by: .seconds(2))
        #expect(!machine.vendor.health.isUsable)
        machine.start("other.example.com", .a)
        let reply = await machine.ask("second.example.com")
        #expect(reply.has("203.0.113.9"))
        #expect(reply.waited.map { $0 <= .milliseconds(10) } == true)
        #expect(machine.vendor.asked.allSatisfy { $0.name.description.hasPrefix("first") })
    }

    @Test @Loop func `the connections of an address in backoff are retired`() async {
        let machine = Machine()
        machine.vendor.behaviour = .failure(.unusable("HTTP 502"))
        _ = await machine.ask()
        await machine.clock.advance(by: .milliseconds(10))
        #expect(machine.vendor.retirements == 1)
    }

    // MARK: What LocalDNS answered in the meantime

    /// A machine where a verified answer of LocalDNS, given since HTTPDNS was silent, has just expired.
    @Loop private func conceded() async -> Machine {
        let machine = Machine(check: .auto)
        machine.handshake.servers["203.0.113.9"] = .honest
        machine.vendor.probeBehaviour = .addresses("192.0.2.1")
        machine.vendor.behaviour = .silence
        let reply = await machine.ask("slow.example")
        #expect(reply.has("203.0.113.9") && reply.waited == .milliseconds(900))
        await machine.clock.advance(by: .milliseconds(26_900))
        #expect(await machine.ask("slow.example").response?.kind == .cache)
        await machine.clock.advance(by: .milliseconds(3_100))
        return machine
    }

    @Test @Loop func `the answer of a provider that is slower than LocalDNS's certificate replaces LocalDNS's`() async {
        let machine = Machine(check: .auto)
        machine.handshake.servers["203.0.113.9"] = .honest
        machine.vendor.behaviour = .addresses("192.0.2.1", after: .seconds(1), ttl: 600)
        #expect(await machine.ask("slow.example").has("203.0.113.9"))
        await machine.clock.advance(by: .milliseconds(100))
        for _ in 0..<10 {
            let reply = await machine.ask("slow.example")
            #expect(reply.has("192.0.2.1") && reply.waited == .zero)
            await machine.clock.advance(by: .seconds(5))
        }
        #expect(machine.vendor.asked.count == 1)
    }

    @Test @Loop func `a look-up behind one client's stale answer fails no client that has none`() async {
        let machine = await conceded()
        #expect(await machine.ask("slow.example").isStale)
        _ = await machine.resolver.remove(.all)
        let reply = await machine.ask("slow.example")
        #expect(reply.has("203.0.113.9") && !reply.isStale)
        #expect(reply.waited == .milliseconds(700))
    }

    @Test @Loop func `a provider that fails behind an answer of LocalDNS takes it from no client`() async {
        let machine = await conceded()
        machine.vendor.behaviour = .failure(.network("refused"))
        for _ in 0..<20 {
            #expect(await machine.ask("slow.example").has("203.0.113.9"))
            #expect(await machine.ask("slow.example", .aaaa).failure == nil)
            await machine.clock.advance(by: .seconds(4))
        }
    }
}
