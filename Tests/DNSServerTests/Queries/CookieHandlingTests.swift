import DNSCache
import DNSResolver
import DNSWire
import Platform
import Synchronization
import TestServers
import Testing

@testable import DNSServer

/// Queries whose client's address may be forged: cookies, and how much those without one get.
struct CookieHandlingTests {
    private let cache = MemoryCache(memory: 1 << 20)
    private let generation = PolicyGeneration()
    private static let cookie: [UInt8] = [1, 2, 3, 4, 5, 6, 7, 8]
    private static let client = "198.51.100.1"

    /// A server with a cached name, and a limit of responses a second.
    private struct Fixture {
        let handler: QueryHandler
        let rules: SharedClientRules
        let start = Instant.bootTime

        func handle(
            _ query: TestMessage, from client: String = client, over transport: Transport = .udp, at seconds: Int64 = 0
        ) throws -> (disposition: QueryHandler.Disposition, reply: TestMessage?, length: Int) {
            let (client, message) = (try #require(IPAddress(client)), query.encoded)
            var disposition = QueryHandler.Disposition.ignore
            let bytes = [UInt8](capacity: transport == .udp ? 1_232 : 65_535) { output in
                disposition = handler.handle(
                    message.span, from: client, over: transport, now: start + .seconds(seconds),
                    into: &output)
            }
            return (disposition, disposition == .reply ? try TestMessage(decoding: bytes) : nil, bytes.count)
        }

        /// The reply to a query for the cached name, with the data of a cookie option if any.
        func ask(
            _ cookie: [UInt8]? = nil, from client: String = client, over transport: Transport = .udp,
            size: UInt16 = 1_232, at seconds: Int64 = 0
        ) throws -> TestMessage {
            let options = cookie.map { [TestEDNS.Option(10, $0)] } ?? []
            let query = TestMessage.query("www.example", edns: TestEDNS(size: size, options: options))
            return try #require(try handle(query, from: client, over: transport, at: seconds).reply)
        }
    }

    private func fixture(
        _ rate: Int, allow: String = "0.0.0.0/0", addresses: Int = 1, cookies: ServerCookies? = nil
    ) throws -> Fixture {
        let all = (1...addresses).map { IPAddress.v4(0xc000_0200 + UInt32($0)) }
        try cache.store(
            "www.example", Answer(name: Name("www.example"), addresses: all, ttl: 300), generation: generation.current)
        let access = AccessList([try #require(AddressPrefix(allow))])
        let rules = SharedClientRules(ClientRules(access: access, cookies: cookies, datagramRate: rate))
        return Fixture(
            handler: QueryHandler(cache: cache, generation: generation, rules: rules, keepalive: 100), rules: rules)
    }

    @Test func `a miss with a cookie is counted once`() throws {
        let fixture = try fixture(1)
        let options = [TestEDNS.Option(10, Self.cookie)]
        let query = TestMessage.query("other.example", edns: TestEDNS(size: 1_232, options: options))
        #expect(try fixture.handle(query, over: .tcp).disposition == .miss)
        #expect(cache.statistics.misses == 1 && cache.statistics.hits == 0)
    }

    @Test(arguments: [Transport.udp, .tcp], ["198.51.100.1", "127.0.0.1"])
    func `a client with a cookie gets the answer, and the server's cookie`(transport: Transport, client: String) throws
    {
        let reply = try fixture(1).ask(Self.cookie, from: client, over: transport)
        #expect(reply.answers.count == 1 && reply.rcode == 0)
        let cookie = try #require(reply.edns?.option(10))
        #expect(cookie.count == 24 && cookie.starts(with: Self.cookie + [1, 0, 0, 0]))
    }

    @Test func `beyond the rate a client without a cookie is directed to TCP, where it is answered`() throws {
        let fixture = try fixture(2)
        for _ in 0..<2 { #expect(try fixture.ask(at: 0).answers.count == 1) }
        let query = TestMessage.query("www.example")
        let sent = try fixture.handle(query, at: 0)
        #expect(sent.reply?.isTruncated == true && sent.reply?.answers.isEmpty == true && sent.reply?.rcode == 0)
        #expect(sent.length == query.encoded.count)
        #expect(try fixture.handle(.query("miss.example"), at: 0).reply?.isTruncated == true)
        #expect(try fixture.ask(over: .tcp, at: 0).answers.count == 1)
        #expect(fixture.rules.limited.count == 2)
    }

    @Test func `beyond the rate a client with a wrong cookie gets the right one, with which it is answered`() throws {
        let fixture = try fixture(1)
        #expect(try fixture.ask().answers.count == 1)
        for wrong in [Self.cookie, Self.cookie + [1, 0, 0, 0] + [UInt8](repeating: 9, count: 12)] {
            let sent = try fixture.ask(wrong)
            #expect(sent.rcode == 23 && sent.answers.isEmpty)
            let cookie = try #require(sent.edns?.option(10))
            for _ in 0..<100 { #expect(try fixture.ask(cookie).answers.count == 1) }
            // It is no other client's.
            _ = try fixture.ask(cookie, from: "198.51.100.2")
            #expect(try fixture.ask(cookie, from: "198.51.100.2").rcode == 23)
        }
    }

    @Test func `a query without a question gets the server's cookie, and learns whether its own is right`() throws {
        let fixture = try fixture(1)
        func ask(_ cookie: [UInt8], from client: String = Self.client) throws -> TestMessage? {
            let edns = TestEDNS(size: 1_232, options: [TestEDNS.Option(10, cookie)])
            var query = TestMessage.query("www.example", edns: edns)
            query.questions = []
            return try fixture.handle(query, from: client).reply
        }
        let first = try #require(try ask(Self.cookie))
        let cookie = try #require(first.edns?.option(10))
        #expect(first.rcode == 0 && first.questions.isEmpty && first.answers.isEmpty)
        #expect(try ask(cookie)?.rcode == 0)
        #expect(try ask(cookie, from: "198.51.100.2")?.rcode == 23)
        #expect(try fixture.ask(cookie).answers.count == 1)
    }

    @Test(arguments: ["127.0.0.1", "10.0.0.1", "192.168.1.1", "100.64.0.1", "169.254.1.1"])
    func `this machine and private networks have no limit`(client: String) throws {
        let fixture = try fixture(1)
        for _ in 0..<100 { #expect(try fixture.ask(from: client).answers.count == 1) }
    }

    @Test func `a network has its rate again in the next second, and another network its own`() throws {
        let rate = DatagramRate(3)
        let (one, other) = (try #require(IPAddress("198.51.100.1")), try #require(IPAddress("2001:db8::1")))
        let start = Instant(nanoseconds: 10_000_000_000)
        #expect((0..<10).count { _ in rate.take(for: one, at: start) } == 3)
        #expect(rate.take(for: other, at: start))
        #expect((0..<10).count { _ in rate.take(for: one, at: start + .seconds(1)) } == 3)
        rate.set(0)
        #expect((0..<10).allSatisfy { _ in rate.take(for: one, at: start + .seconds(1)) })
    }

    @Test func `threads that count at the same time let no more through than the rate`() throws {
        let limit = 50_000
        let rate = DatagramRate(limit)
        let client = try #require(IPAddress(Self.client))
        let now = Instant(nanoseconds: 10_000_000_000)
        let allowed = Mutex(0)
        let threads = try (0..<4).map { _ in
            try NamedThread("receiver") {
                let own = (0..<limit / 2).count { _ in rate.take(for: client, at: now) }
                allowed.withLock { $0 += own }
            }
        }
        for thread in threads { thread.join() }
        #expect(allowed.withLock { $0 } == limit)
    }

    @Test func `a reload's rate counts from then on`() throws {
        let fixture = try fixture(1)
        #expect((0..<10).count { _ in (try? fixture.ask(at: 0))?.answers.count == 1 } == 1)
        let access = AccessList([try #require(AddressPrefix("0.0.0.0/0"))])
        fixture.rules.replace(with: ClientRules(access: access, datagramRate: 5))
        #expect((0..<10).count { _ in (try? fixture.ask(at: 1))?.answers.count == 1 } == 5)
    }

    @Test func `a response that is cut for the cookie has it, and TC`() throws {
        // 12 + 17 + 28 * 16 + 11 bytes are within 512, with 28 more they are not.
        let fixture = try fixture(100, addresses: 28)
        #expect(try fixture.ask(size: 512).answers.count == 28)
        let cut = try fixture.ask(Self.cookie, size: 512)
        #expect(cut.isTruncated && cut.edns?.option(10)?.count == 24)
    }

    @Test func `servers with the same secret take one another's cookies`() throws {
        let secrets: [[UInt8]] = [[UInt8](repeating: 1, count: 16), [UInt8](repeating: 2, count: 16)]
        let first = try fixture(1, cookies: ServerCookies(shared: secrets))
        let second = try fixture(1, cookies: ServerCookies(shared: secrets.reversed()))
        let alone = try fixture(1)
        let cookie = try #require(try first.ask(Self.cookie).edns?.option(10))
        for _ in 0..<3 { #expect(try second.ask(cookie).rcode == 0) }
        #expect(try second.ask(cookie).edns?.option(10) != cookie)
        _ = try alone.ask(cookie)
        #expect(try alone.ask(cookie).rcode == 23)
        #expect(ServerCookies(shared: []) == nil && ServerCookies(shared: [[1]]) == nil)
    }

    @Test(
        arguments: [".", "a", "www.example.com", "a.very.long.name.of.many.labels.in.a.zone.example.com"],
        [nil, TestEDNS(), TestEDNS(options: [.init(10, cookie)])])
    func `a client that is not allowed gets at most 1_2 times what it sent over UDP`(name: String, edns: TestEDNS?)
        throws
    {
        let query = TestMessage.query(name, edns: edns)
        let fixture = try fixture(0, allow: "127.0.0.0/8")
        let refused = try fixture.handle(query)
        #expect(refused.reply?.rcode == 5)
        #expect(refused.length * 10 <= query.encoded.count * 12)
        // Over TCP, where no address is forged, it learns why.
        let text = try #require(try fixture.handle(query, over: .tcp).reply)
        #expect((text.edns?.option(15)?.count ?? 0 > 2) == (edns != nil))
    }

    @Test func `the resolver's answer has the cookie, too`() async throws {
        try await TestServer.run(responder: .address("192.0.2.9")) { server in
            let query = TestMessage.query("one.example", edns: TestEDNS(options: [.init(10, Self.cookie)]))
            let overUDP = try TestDNSClient(server.address).ask(query)
            #expect(overUDP.addresses == ["192.0.2.9"] && overUDP.edns?.option(10)?.count == 24)
            let overTCP = try TestTCPClient(server.address).ask(query)
            #expect(overTCP.addresses == ["192.0.2.9"] && overTCP.edns?.option(10)?.count == 24)
        }
    }
}
