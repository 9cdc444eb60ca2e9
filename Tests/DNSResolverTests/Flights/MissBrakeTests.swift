import DNSWire
import TestSupport
import TestUpstreams
import Testing

@testable import DNSResolver

/// How many calls the misses of one client network cost, on the test's clock.
@Suite(.onLoop) struct MissBrakeTests {
    private static let flooder = IPAddress.v4(0xc000_0242)
    private static let client = IPAddress.v4(0xc000_0207)
    private static let limits = MissLimits(perSecond: 20, burst: 100)

    private let machine: Machine

    @Loop init() {
        machine = Machine()
        machine.localDNS.behaviour = .silence
    }

    /// One question after the other, at the same time; how many were refused.
    @Loop private func flood(_ count: Int, below domain: String, from client: IPAddress = flooder) async -> Int {
        var replies: [ClientReply] = []
        let run = machine.vendor.asked.count
        for index in 0..<count {
            replies.append(machine.start("n\(run)-\(index).\(domain)", from: client))
            await machine.clock.advance(by: .zero)
        }
        return replies.count { $0.failure == .serverFailure }
    }

    @Loop private func denyAll() { machine.vendor.behaviour = .denial() }

    @Test @Loop func `without a limit a client gets all the names it asks for`() async {
        #expect(await flood(500, below: "example.com") == 0)
        #expect(machine.resolver.refusedMisses == 0)
    }

    @Test @Loop func `a flood of names below one domain costs half the burst of calls, and half the rate`() async {
        machine.resolver.limitMisses(Self.limits)
        #expect(await flood(500, below: "example.com") == 450)
        #expect(machine.vendor.asked.count == 50)
        await machine.clock.advance(by: .seconds(2))
        #expect(await flood(500, below: "example.com") == 480)
        #expect(machine.resolver.refusedMisses == 930)
    }

    @Test @Loop func `a flood of names that do not exist gets a tenth of the rate from then on`() async {
        machine.resolver.limitMisses(Self.limits)
        denyAll()
        var calls = 0
        for _ in 0..<60 {
            calls += 100 - (await flood(100, below: "example.com"))
            await machine.clock.advance(by: .seconds(1))
        }
        #expect((120...140).contains(calls))
    }

    @Test @Loop func `a flood of names below many domains costs the burst and the rate`() async {
        machine.resolver.limitMisses(Self.limits)
        var refused = 0
        for index in 0..<500 { refused += await flood(1, below: "n\(index).com") }
        #expect(refused == 400)
    }

    @Test @Loop func `the first names of another client go on, below the flooded domain as well`() async {
        machine.resolver.limitMisses(Self.limits)
        denyAll()
        #expect(await flood(500, below: "example.com") > 0)
        machine.vendor.behaviour = .addresses("192.0.2.1", "2001:db8::1")
        #expect(await machine.ask("www.example.com", from: Self.client).has("192.0.2.1"))
    }

    @Test @Loop func `the other domains of the same client go on`() async {
        machine.resolver.limitMisses(Self.limits)
        #expect(await flood(500, below: "example.com") > 0)
        #expect(await machine.ask("www.example.net", from: Self.flooder).has("192.0.2.1"))
    }

    @Test @Loop
    func `the client that is refused gets what is cached, names that it had before, and a question under way`() async {
        #expect(await machine.ask("www.example.com", from: Self.flooder).has("192.0.2.1"))
        machine.resolver.limitMisses(Self.limits)
        #expect(await flood(500, below: "example.com") > 0)
        #expect(await machine.ask("www.example.com", from: Self.flooder).has("192.0.2.1"))
        await machine.clock.advance(by: .seconds(120))
        #expect(await flood(500, below: "example.com") > 0)
        let again = await machine.ask("www.example.com", from: Self.flooder)
        #expect(again.has("192.0.2.1") && !again.isStale)
        machine.vendor.behaviour = .addresses("192.0.2.2", after: .milliseconds(50))
        machine.start("new.example.com", from: Self.client)
        let joined = machine.start("new.example.com", from: Self.flooder)
        await machine.clock.advance(by: .milliseconds(100))
        #expect(joined.has("192.0.2.2"))
    }

    @Test @Loop func `the refusal names the key and the domain, to the client and to operators`() async throws {
        machine.resolver.limitMisses(Self.limits)
        _ = await flood(51, below: "www.example.com")
        let refused = await machine.ask("more.example.com", from: Self.flooder)
        #expect(refused.failure == .serverFailure)
        #expect(
            refused.response?.extendedError?.text
                == "limits.misses_per_second: too many names that are not cached, now below example.com")
        #expect(
            machine.events.last
                == .missesRefused(ClientNetwork(Self.flooder), domain: try Name("example.com")))
    }

    @Test @Loop
    func `a page of sixty names of one domain, each for A, AAAA and HTTPS, is whole with the default burst`() async {
        machine.resolver.limitMisses(MissLimits(perSecond: 20, burst: 400))
        let replies = (0..<60).flatMap { index in
            [RecordType.a, .aaaa, .https].map { machine.start("n\(index).cdn.example.com", $0, from: Self.client) }
        }
        await machine.clock.advance(by: .seconds(1))
        #expect(machine.resolver.refusedMisses == 0)
        #expect(replies.allSatisfy { $0.response != nil })
    }

    @Test @Loop func `a mail server that looks up twenty names a second, most of them denied, works at 200`() async {
        machine.resolver.limitMisses(MissLimits(perSecond: 200, burst: 400))
        denyAll()
        for _ in 0..<120 {
            #expect(await flood(20, below: "list.example.org", from: Self.client) == 0)
            await machine.clock.advance(by: .seconds(1))
        }
    }

    // MARK: Where calls are billed, without a key

    @Test @Loop func `a flood of names that do not exist costs 250 calls, and 25 a second`() async {
        machine.resolver.limitMisses(.whereBilled)
        denyAll()
        let refused = await flood(500, below: "example.com")
        #expect((245...255).contains(refused))
        var calls = 0
        for _ in 0..<20 {
            await machine.clock.advance(by: .seconds(1))
            calls += 100 - (await flood(100, below: "example.com"))
        }
        #expect((490...510).contains(calls))
    }

    @Test @Loop func `however many names exist, none is refused: a crawler's, a measurement's`() async {
        machine.resolver.limitMisses(.whereBilled)
        #expect(await flood(5_000, below: "example.com") == 0)
    }

    // MARK: Limits of calls

    @Test @Loop func `of calls that are nearly spent a flood has its share, and another client its names`() async throws
    {
        machine.provider.callShare = 250
        _ = await machine.ask("first.example.net", from: Self.client)
        #expect(await flood(500, below: "example.com") == 250)
        for index in 0..<20 {
            #expect(await machine.ask("n\(index).example.net", from: Self.client).has("192.0.2.1"))
        }
        let refused = await machine.ask("new.example.com", from: Self.flooder)
        #expect(refused.failure == .serverFailure && refused.response?.extendedError?.text.contains("share") == true)
        #expect(machine.localDNS.asked.isEmpty)
        #expect(machine.events.last == .callsRefused(ClientNetwork(Self.flooder)))
    }

    @Test @Loop func `a name that was answered before is asked for again beyond the share`() async {
        machine.provider.callShare = 3
        _ = await machine.ask("first.example.net", from: Self.client)
        #expect(await machine.ask("www.example.com", from: Self.flooder).has("192.0.2.1"))
        _ = await flood(10, below: "example.net")
        await machine.clock.advance(by: .seconds(400))
        let again = await machine.ask("www.example.com", from: Self.flooder)
        #expect(again.has("192.0.2.1") && !again.isStale)
    }

    @Test @Loop func `a network that is alone has all the calls, and is so again after a day`() async {
        machine.provider.callShare = 5
        #expect(await flood(20, below: "example.com") == 0)
        _ = await machine.ask("first.example.net", from: Self.client)
        #expect(await flood(20, below: "example.org") == 20)
        await machine.clock.advance(by: .seconds(86_401))
        #expect(await flood(20, below: "example.net") == 0)
    }

    @Test @Loop func `once half of the limit is there again, nothing is counted`() async {
        machine.provider.callShare = 10
        _ = await machine.ask("first.example.net", from: Self.client)
        #expect(await flood(20, below: "example.com") == 10)
        machine.provider.callShare = .max
        #expect(await flood(20, below: "example.org") == 0)
        machine.provider.callShare = 10
        #expect(await flood(20, below: "example.net") == 10)
    }

    @Test @Loop func `names that LocalDNS answers are not limited`() async throws {
        let machine = Machine(policy: RoutePolicy(bypass: [try Name("example.com")]))
        machine.resolver.limitMisses(Self.limits)
        for index in 0..<300 {
            #expect(await machine.ask("n\(index).example.com").has("203.0.113.9"))
        }
    }

    @Test @Loop func `two thousand client networks leave nothing behind but a bounded number of counts`() throws {
        let brake = MissBrake(Self.limits)
        let now = Instant(nanoseconds: 0)
        let name = try Name("www.example.com")
        for index in 0..<UInt32(20_000) {
            #expect(brake.refuses(name, of: ClientNetwork(.v4(0x0a00_0000 + index)), at: now) == nil)
        }
        #expect(brake.count <= 2_048)
    }
}
