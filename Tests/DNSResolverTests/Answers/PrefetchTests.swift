import DNSCache
import DNSWire
import TestSupport
import TestUpstreams
import Testing

@testable import DNSResolver

/// Popular answers are prefetched before they expire, without any effect on the clients' waiting time.
@Suite(.onLoop) struct PrefetchTests {
    /// A machine that has the name in its cache with a TTL of 60 s, and has served it to a second client.
    @Loop private func popular(_ freshness: FreshnessPolicy = FreshnessPolicy()) async throws -> Machine {
        let machine = Machine(freshness: freshness)
        _ = await machine.ask()
        #expect(try machine.hit() != nil)
        return machine
    }

    @Test @Loop func `C9: a question in a popular name's last tenth refreshes it, answered at once`() async throws {
        let machine = try await popular()
        await machine.clock.advance(by: .seconds(53))
        #expect(try machine.hit() != nil)
        await machine.clock.advance(by: .seconds(1))
        // Now the UDP threads leave it to the resolver, which still has the answer.
        #expect(try machine.hit() == nil)
        machine.vendor.behaviour = .addresses("192.0.2.7", after: .milliseconds(200))
        let reply = await machine.ask()
        #expect(reply.has("192.0.2.1") && reply.waited == .zero && !reply.isStale)
        guard case .answer(_, let age)? = reply.response?.content else {
            Issue.record("no answer")
            return
        }
        #expect(age == 54)
        #expect(machine.vendor.asked.count == 2 && machine.resolver.refreshes == 1)
        // Until the prefetch ends, the threads serve the cached answer.
        #expect(try machine.hit()?.answers.map(\.ttl) == [6])
        await machine.clock.advance(by: .milliseconds(200))
        #expect(try machine.hit()?.answers.compactMap(\.address) == [IPAddress("192.0.2.7")])
        await machine.clock.advance(by: .seconds(30))
        #expect(try machine.hit() != nil)
    }

    @Test @Loop func `both families are refreshed with one call`() async throws {
        let machine = try await popular()
        await machine.clock.advance(by: .seconds(55))
        _ = await machine.ask()
        _ = await machine.ask("www.example.com", .aaaa)
        #expect(machine.vendor.asked.count == 2)
        #expect(try machine.hit("www.example.com", .aaaa)?.answers.map(\.ttl) == [60])
    }

    @Test @Loop func `a refresh that fails is not repeated, and the answer lives to its end`() async throws {
        let machine = try await popular()
        await machine.clock.advance(by: .seconds(55))
        machine.failEverything()
        #expect(await machine.ask().has("192.0.2.1"))
        let asked = machine.vendor.asked.count
        for _ in 0..<4 {
            await machine.clock.advance(by: .seconds(1))
            #expect(try machine.hit()?.answers.compactMap(\.address) == [IPAddress("192.0.2.1")])
            #expect(await machine.ask().has("192.0.2.1"))
        }
        #expect(machine.vendor.asked.count == asked)
        await machine.clock.advance(by: .seconds(1))
        #expect(try machine.hit() == nil)
        #expect(await machine.ask().isStale)
    }

    @Test @Loop func `C9: a refresh that only LocalDNS answers does not replace what a provider returned`() async throws
    {
        let machine = try await popular()
        await machine.clock.advance(by: .seconds(55))
        machine.vendor.behaviour = .failure(.network("refused"))
        _ = await machine.ask()
        #expect(await machine.ask().has("192.0.2.1"))
    }

    @Test @Loop func `switched off, an answer is served by the threads to its end`() async throws {
        let machine = try await popular(FreshnessPolicy(prefetches: false))
        await machine.clock.advance(by: .seconds(59))
        #expect(try machine.hit() != nil)
        #expect(machine.vendor.asked.count == 1)
    }

    @Test @Loop func `what a rule of the resolver made is not refreshed`() async throws {
        let machine = Machine(local: LocalAnswers(families: .ipv4))
        _ = await machine.ask("www.example.com", .aaaa)
        _ = try machine.hit("www.example.com", .aaaa)
        await machine.clock.advance(by: .seconds(59))
        #expect(try machine.hit("www.example.com", .aaaa)?.answers.isEmpty == true)
        #expect(machine.vendor.asked.count == 1)
    }
}

/// Names that are looked up before any client asks.
@Suite(.onLoop) struct PreresolveTests {
    private func names(_ count: Int) -> [Name] { (0..<count).compactMap { try? Name("host\($0).example.com") } }

    @Test @Loop func `the first client of a listed name finds it in the cache, in both families`() async throws {
        let machine = Machine(preresolve: names(3))
        machine.resolver.preresolve()
        await machine.clock.advance(by: .zero)
        #expect(machine.vendor.asked.count == 3)
        #expect(try machine.hit("host2.example.com") != nil)
        #expect(try machine.hit("host2.example.com", .aaaa) != nil)
    }

    @Test @Loop func `a few names are under way at once, and each one that ends makes room for the next`() async {
        let machine = Machine(preresolve: names(10))
        machine.vendor.behaviour = .addresses("192.0.2.1", "2001:db8::1", after: .milliseconds(100))
        machine.resolver.preresolve()
        await machine.clock.advance(by: .milliseconds(50))
        #expect(machine.vendor.asked.count == 4)
        await machine.clock.advance(by: .milliseconds(100))
        #expect(machine.vendor.asked.count == 8)
        await machine.clock.advance(by: .milliseconds(100))
        #expect(machine.vendor.asked.count == 10)
    }

    @Test @Loop func `names that are fresh are not asked for again, but are when the network has changed`() async {
        let machine = Machine(preresolve: names(2))
        machine.resolver.preresolve()
        await machine.clock.advance(by: .seconds(1))
        machine.resolver.preresolve()
        await machine.clock.advance(by: .seconds(1))
        #expect(machine.vendor.asked.count == 2)
        machine.resolver.networkChanged()
        machine.resolver.preresolve()
        await machine.clock.advance(by: .seconds(1))
        #expect(machine.vendor.asked.count == 4)
    }

    @Test @Loop func `preset names are not looked up`() async {
        var presets = Presets()
        presets.add(names(1)[0], addresses: [.v4(1)])
        let machine = Machine(local: LocalAnswers(presets: presets), preresolve: names(1))
        machine.resolver.preresolve()
        await machine.clock.advance(by: .seconds(1))
        #expect(machine.vendor.asked.isEmpty)
    }
}
