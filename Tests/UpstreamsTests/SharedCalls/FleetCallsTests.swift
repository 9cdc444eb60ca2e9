import DNSResolver
import DNSWire
import TestSupport
import Testing

@testable import Upstreams

/// Servers that count their calls together, in a Redis that replies when the test lets it.
@Suite(.onLoop)
struct FleetCallsTests {
    private static let day: Int64 = 86_400
    private let redis = FakeCounts()

    /// Lets each server send one call after the other, in turn, until none may.
    @Loop private func exhaust(_ servers: [FakeCounts.Server]) -> Int {
        var (sent, isOver) = (0, false)
        while !isOver {
            isOver = true
            for server in servers where server.send(1) == 1 {
                sent += 1
                isOver = false
                redis.serve()
            }
        }
        return sent
    }

    @Test(arguments: [1, 2, 7, 99, 100, 1_000, 12_345]) @Loop
    func `servers together send no more than the limit, and nearly all of it`(limit: Int) throws {
        let servers = try (0..<3).map { _ in try redis.server(daily: limit) }
        let sent = exhaust(servers)
        let batch = min(max(1, limit / 100), 100)
        #expect((limit - 3 * batch...limit + 3 * batch).contains(sent), "\(sent)")
        #expect(servers.allSatisfy { $0.events.contains(.fleetLimitReached(provider: "vendor", .day, limit: limit)) })
    }

    @Test @Loop func `a server that asks all alone has the whole limit`() throws {
        let servers = try (0..<20).map { _ in try redis.server(daily: 1_000) }
        for server in servers.dropFirst() {
            #expect(server.send(1) == 1)
            redis.serve()
        }
        // Each of the others has sent one, and holds back one at most.
        #expect(exhaust([servers[0]]) >= 1_000 - 2 * 19)
    }

    @Test @Loop func `calls that come before Redis replies are sent, one batch of them`() throws {
        let server = try redis.server(daily: 1_000)
        #expect(server.send(50) == 10)
        #expect(server.account.refusal == "the fleet's count of its daily_limit of 1000 calls is awaited")
        redis.serve()
        #expect(server.send(50) > 0)
        #expect(server.events.isEmpty)
    }

    @Test @Loop func `in a steady run no call is refused, and few commands are sent`() throws {
        let server = try redis.server(daily: 100_000)
        for _ in 0..<1_000 {
            #expect(server.send(10) == 10)
            redis.serve()
        }
        #expect(redis.scripts < 300, "\(redis.scripts)")
    }

    @Test @Loop func `a day and a month are counted beside each other, and the narrower limit holds`() throws {
        let servers = try (0..<2).map { _ in try redis.server(daily: 60, monthly: 100) }
        #expect((58...62).contains(exhaust(servers)))
        redis.day.seconds += Self.day
        #expect((36...44).contains(exhaust(servers)))
        redis.day.seconds += Self.day
        #expect(exhaust(servers) == 0)
        #expect(servers[0].events.last == .fleetLimitReached(provider: "vendor", .month, limit: 100))
    }

    @Test @Loop func `at midnight UTC each server begins a new count, without waiting`() throws {
        let servers = try (0..<2).map { _ in try redis.server(daily: 200) }
        #expect(exhaust(servers) > 190)
        redis.day.seconds += Self.day
        #expect(servers.map { $0.send(1) } == [1, 1])
        redis.serve()
        #expect(exhaust(servers) > 190)
        #expect(redis.values.count == 2)
    }

    @Test @Loop func `a reply that comes after midnight claims nothing for the new day`() throws {
        let server = try redis.server(daily: 1_000)
        #expect(server.send(1) == 1)
        redis.day.seconds += Self.day
        redis.serve()
        #expect(server.fleet.total(.day) == nil)
        #expect(server.send(50) == 10)
    }

    @Test @Loop func `four fifths of the limit are reported once by each server, as the fleet's`() throws {
        let servers = try (0..<2).map { _ in try redis.server(daily: 100) }
        _ = exhaust(servers)
        for server in servers {
            #expect(server.events.count { $0 == .fleetLimitNear(provider: "vendor", .day, limit: 100) } == 1)
            #expect(!server.events.contains { if case .callLimitNear = $0 { true } else { false } })
        }
    }

    @Test @Loop func `the first call of a day reports what the day before was billed, once`() throws {
        let server = try redis.server(daily: 1_000)
        #expect(server.send(3) == 3)
        redis.day.seconds += Self.day
        #expect(server.send(2) == 2)
        let text = "vendor: 2027-01-15 (UTC) had 3 calls; its month until then 3 calls, about 99 calls by its end"
        #expect(server.events.map { "\($0)" } == [text])
    }

    // MARK: A restart

    @Test @Loop func `what was claimed and not sent is sent after a restart`() throws {
        let first = try redis.server(daily: 100_000)
        for _ in 0..<100 {
            _ = first.send(10)
            redis.serve()
        }
        let record = try #require(FleetRecord(storedText: first.fleet.record.storedText))
        let counted = try #require(first.fleet.total(.day))
        let second = try redis.server(daily: 100_000)
        second.fleet.restore(record)
        #expect(second.send(1) == 1)
        // More than half the batch is left: nothing is claimed.
        let before = redis.scripts
        redis.serve()
        #expect(redis.scripts == before && counted >= 1_000)
        #expect(second.fleet.servers == 1)
    }

    @Test(arguments: [
        "", "daily_limit 1 2 3", "daily_limit 1 2 3 0", "weekly_limit 1 2 3 4", "daily_limit x 2 3 4",
        "daily_limit 1 2 3 99999999999999999999", "daily_limit 1 2 3 4294967297", "daily_limit 1 2 3 -1",
    ])
    func `a record that makes no sense is none`(text: String) { #expect(FleetRecord(storedText: text) == nil) }

    @Test func `a count that makes no sense is none`() {
        let good = FleetTotal(epoch: .max, calls: 1 << 48, servers: 1)
        #expect(FleetTotal(good.bytes) == good)
        for servers in [0, -1, .max] {
            #expect(FleetTotal(FleetTotal(epoch: 1, calls: 1, servers: servers).bytes) == nil)
        }
        #expect(FleetTotal(FleetTotal(epoch: 1, calls: .max, servers: 1).bytes) == nil)
        for count in 0..<30 where count != 24 { #expect(FleetTotal([UInt8](repeating: 1, count: count)) == nil) }
    }

    @Test(arguments: [Int.max, .min, -1]) @Loop
    func `a record with a senseless reserve allows no more than a batch, and no less`(reserve: Int) throws {
        let server = try redis.server(daily: 1_000)
        let number = server.account.count(.day).period
        server.fleet.restore(FleetRecord(parts: [.day: .init(number: number, epoch: 7, reserve: reserve, servers: 1)]))
        #expect((10...20).contains(server.send(100)))
    }

    // MARK: Redis gone

    @Test @Loop func `without Redis each server has its part of what the fleet had left`() throws {
        let servers = try (0..<4).map { _ in try redis.server(daily: 10_000) }
        for _ in 0..<1_000 {
            for server in servers { _ = server.send(1) }
            redis.serve()
        }
        let sent = servers.map { server in
            var sent = 0
            for _ in 0..<10_000 {
                sent += server.send(1)
                redis.reply(nil)
            }
            return sent
        }
        // 4,000 are sent of 10,000.
        #expect((5_500...6_500).contains(sent.reduce(0, +)), "\(sent)")
        for server in servers {
            #expect(server.events.count { if case .fleetCountMissing = $0 { true } else { false } } == 1)
            #expect(server.events.last == .shareReached(provider: "vendor", .day, limit: 10_000))
            #expect(server.account.refusal == "this server's share of its daily_limit of 10000 calls is reached")
        }
    }

    @Test @Loop func `a server that never had the fleet's count has the whole limit`() throws {
        let server = try redis.server(daily: 1_000)
        _ = server.send(1)
        redis.reply(nil)
        #expect(server.send(2_000) == 999)
    }

    @Test func `a server that starts again without Redis has its share less what it sent before`() {
        var part = FleetPart(limit: 1_000)
        part.move(to: 1)
        part.lose(ownCalls: 0)
        part.restore(FleetPart.Record(number: 1, epoch: 0, reserve: 0, servers: 4), ownCalls: 200)
        #expect(part.left == 50)
    }

    @Test func `how many servers share a limit outlives days without the fleet's count`() {
        var part = FleetPart(limit: 1_000)
        part.move(to: 1)
        part.take(FleetTotal(epoch: 7, calls: 10, servers: 4), for: nil)
        for day: Int64 in 2...4 {
            part.move(to: day)
            part.lose(ownCalls: 0)
            #expect(part.left == 250)
        }
    }

    @Test func `a fleet that had fewer servers for a day is as small on the next`() {
        var part = FleetPart(limit: 1_000)
        for (day, servers): (Int64, Int) in [(1, 4), (2, 2)] {
            part.move(to: day)
            part.take(FleetTotal(epoch: UInt64(day), calls: 10, servers: servers), for: nil)
        }
        part.move(to: 3)
        part.lose(ownCalls: 0)
        #expect(part.left == 500)
    }

    @Test @Loop func `what was sent without Redis is in the fleet's count when it is back`() async throws {
        let servers = try (0..<2).map { _ in try redis.server(daily: 1_000) }
        _ = servers[0].send(1)
        redis.reply(.error("NOPERM"))
        #expect(servers[0].send(300) == 300)
        await redis.clock.advance(by: .seconds(120))
        _ = servers[0].send(1)
        redis.serve()
        #expect(servers[0].events.last == .fleetCountBack(provider: "vendor"))
        let count = try #require(servers[0].fleet.total(.day))
        #expect(count >= 302 && count <= 320)
        #expect((670...720).contains(exhaust(servers)))
    }

    @Test @Loop func `a share that is used up ends when Redis is back`() async throws {
        let server = try redis.server(daily: 1_000)
        let other = try redis.server(daily: 1_000)
        for server in [other, server] {
            _ = server.send(1)
            redis.serve()
        }
        _ = server.send(1)
        redis.reply(.error("NOPERM"))
        _ = server.send(2_000)
        #expect(server.send(1) == 0)
        await redis.clock.advance(by: .seconds(120))
        #expect(server.account.refusal == "this server's share of its daily_limit of 1000 calls is reached")
        #expect(redis.waiting == 0)
        server.account.refused()
        redis.serve()
        #expect(server.send(1) == 1)
    }

    @Test @Loop func `a server whose clock is in doubt counts in no day of the fleet's`() throws {
        redis.hasTime = false
        let server = try redis.server(daily: 1_000)
        #expect(server.send(20) == 20)
        redis.serve()
        #expect(redis.scripts == 0 && redis.values.isEmpty)
    }

    // MARK: What others write there

    private static let garbage: [[UInt8]] = [
        Array("1000000000000000000".utf8), Array("-1000000000000000000".utf8), Array("leased".utf8), [0],
        [UInt8](repeating: 0xff, count: 52), [UInt8](repeating: 1, count: 5_000),
    ]

    @Test(arguments: garbage) @Loop
    func `a count that others wrote stops no call, and the servers' own calls are counted again`(value: [UInt8]) throws
    {
        let servers = try (0..<2).map { _ in try redis.server(daily: 1_000) }
        for _ in 0..<200 {
            for server in servers { _ = server.send(1) }
            redis.serve()
        }
        let name = try #require(redis.values.keys.first)
        redis.values[name] = value
        let sent = exhaust(servers)
        #expect((560...640).contains(sent), "\(sent)")
        #expect(redis.damages > 0 || value.count > 200)
    }

    @Test @Loop func `a count that is removed begins again with the calls of each server`() throws {
        let servers = try (0..<3).map { _ in try redis.server(daily: 3_000) }
        for _ in 0..<300 {
            for server in servers { _ = server.send(1) }
            redis.serve()
        }
        redis.values = [:]
        #expect((2_000...2_200).contains(exhaust(servers)))
    }

    @Test @Loop func `an old count that is put back again and again stops no call`() throws {
        let servers = try (0..<2).map { _ in try redis.server(daily: 1_000) }
        for server in servers { _ = server.send(1) }
        redis.serve()
        let old = redis.values
        for _ in 0..<20 {
            for server in servers { _ = server.send(5) }
            redis.serve()
            redis.values = old
        }
        #expect(exhaust(servers) >= 790)
    }

    @Test @Loop func `the count of a day is none for another day, another account or another fleet`() throws {
        let server = try redis.server(daily: 1_000)
        _ = exhaust([server])
        redis.day.seconds += Self.day
        let other = try redis.server(daily: 1_000, secret: 2)
        for server in [server, other] {
            _ = server.send(1)
            redis.serve()
        }
        let full = try #require(redis.values.values.first)
        for name in redis.values.keys { redis.values[name] = full }
        #expect(exhaust([server]) > 900)
        #expect(exhaust([other]) > 900)
    }

    @Test @Loop
    func `a count that is removed all the time takes the fleet's count away, and the server's share is left`() throws {
        let server = try redis.server(daily: 1_000)
        var sent = 0
        for _ in 0..<100 {
            sent += server.send(10)
            redis.serve()
            redis.values = [:]
        }
        #expect(sent > 900, "\(sent)")
        #expect(server.events.contains { if case .fleetCountMissing = $0 { true } else { false } })
    }

    @Test(arguments: [RedisReply.nothing, .integer(-1), .integer(.max), .status("OK"), .list([])]) @Loop
    func `a reply that is no count is a failure, and no call is stopped`(reply: RedisReply) throws {
        let server = try redis.server(daily: 1_000)
        _ = server.send(1)
        redis.reply(reply)
        #expect(server.send(500) == 500)
        #expect(server.events.count { if case .fleetCountMissing = $0 { true } else { false } } == 1)
    }

    @Test @Loop func `after a claim that is counted the pause upon a refusal is the first one again`() async throws {
        let server = try redis.server(daily: 1_000)
        for _ in 0..<4 {
            _ = server.send(50)
            #expect(redis.waiting == 1)
            redis.reply(.error("ERR unknown command"))
            await redis.clock.advance(by: .seconds(1))
            _ = server.send(1)
            #expect(redis.waiting == 1)
            redis.serve()
        }
    }

    @Test @Loop func `two servers that claim at once both have their calls counted`() throws {
        let servers = try (0..<2).map { _ in try redis.server(daily: 1_000) }
        for _ in 0..<100 {
            // Both claims are under way before either is carried out.
            for server in servers { _ = server.send(1) }
            redis.serve()
        }
        #expect(servers.compactMap { $0.fleet.total(.day) }.allSatisfy { $0 >= 190 && $0 <= 260 })
    }
}
