import CSystem.Linux
import DNSWire
import Glibc
import Platform
import TestServers
import TestSupport
import Testing

@testable import DNSServer

@Suite(.onLoop) struct PendingQueriesTests {
    /// Queries of invented clients; all responses are sent to one real socket.
    @Loop
    final class Fixture {
        let responder = FakeResponder()
        let queries: PendingQueries
        private let sockets: UDPSockets
        private let received: UDPSocket
        private let clock: any LoopClock

        init(
            _ limits: ServerLimits = TestServer.limits, memory: MemoryReturn? = nil, clock: (any LoopClock)? = nil
        ) throws {
            let loop = TestServer.loop
            self.clock = clock ?? loop
            queries = PendingQueries(
                responder: responder, clock: self.clock, limits: limits, outbox: ReplyOutbox(on: loop),
                feed: QueryFeed(on: loop), events: EventLog(.silent, clock: loop),
                memory: memory ?? MemoryReturn(clock: loop) {})
            let any = try #require(SocketAddress("127.0.0.1:0"))
            sockets = try UDPSocket.bind(any)
            received = try UDPSocket.bind(any).receivers[0]
        }

        /// Adds a query as if sent by `client`.
        ///
        /// - Parameter local: the bytes of the address to which it was sent; nil: the socket has only one.
        func add(_ query: TestMessage, from client: String = "192.0.2.1:4000", to local: [UInt8]? = nil) throws {
            var origin = clinux_origin()
            received.address.withSockaddr { address, length in
                memcpy(&origin.peer, address, Int(length))
                origin.peer_length = length
            }
            if let local {
                origin.has_local = 1
                withUnsafeMutableBytes(of: &origin.local) { $0.copyBytes(from: local) }
            }
            queries.add(
                query.encoded, from: try #require(SocketAddress(client)),
                path: .datagram(DatagramPath(socket: sockets.sender, origin: origin)), arrived: clock.now)
        }

        /// The responses that have been sent.
        func replies() throws -> [TestMessage] {
            queries.outbox.flush()
            var replies: [TestMessage] = []
            var buffer = [UInt8](repeating: 0, count: 2_000)
            while true {
                let count = recv(received.descriptor.number, &buffer, buffer.count, 0)
                guard count >= 0 else { return replies }
                replies.append(try TestMessage(decoding: Array(buffer[..<count])))
            }
        }
    }

    @Test @Loop func `what is answered does not count any more as begun a short time ago`() async throws {
        let clock = ManualClock()
        let fixture = try Fixture(clock: clock)
        #expect(fixture.queries.recentCount(at: clock.now) == 0)
        for index in 0..<3 { try fixture.add(.query("name\(index).example", id: UInt16(index))) }
        #expect(fixture.queries.recentCount(at: clock.now) == 3)
        await fixture.responder.asked(3)
        fixture.responder.releaseForEver()
        await fixture.queries.drain()
        #expect(fixture.queries.recentCount(at: clock.now) == 0)
    }

    @Test(arguments: ["192.0.2.1:4000", "[2001:db8::1]:4000", "127.0.0.1:1"]) @Loop
    func `a client alone may have as many queries outstanding as allowed, and gets SERVFAIL beyond`(
        client: String
    ) async throws {
        let fixture = try Fixture(.test { $0.pending = 200 })
        for index in 0..<201 {
            try fixture.add(.query("name\(index).example", id: UInt16(index), edns: TestEDNS()), from: client)
        }
        let replies = try fixture.replies()
        #expect(replies.map(\.id) == [200])
        #expect(replies.first?.rcode == 2)
        #expect(replies.first?.extendedErrors == [0])
        #expect(fixture.queries.count == 200)
        await fixture.responder.asked(200)
        fixture.responder.releaseForEver()
        await fixture.queries.drain()
        #expect(try fixture.replies().count == 200)
    }

    @Test @Loop func `of a client with many queries outstanding the longest waiting one is evicted`() async throws {
        let fixture = try Fixture(.test { $0.pending = 12 })
        for index in 0..<30 {
            let client = "[2001:db8::\(index + 1)]:53"
            try fixture.add(.query("name\(index).example", id: UInt16(index)), from: client)
        }
        #expect(try fixture.replies().map(\.id).sorted() == (12..<30).map { UInt16($0) })
        for index in 100..<104 { try fixture.add(.query("name.example", id: UInt16(index)), from: "192.0.2.1:4000") }
        #expect(try fixture.replies().map(\.id) == [0, 1, 2, 3])
        fixture.responder.releaseForEver()
        await fixture.queries.drain()
        let replies = try fixture.replies()
        #expect(replies.allSatisfy { $0.rcode == 0 } && replies.count == 12)
        #expect(Set(replies.map(\.id)).isSuperset(of: 100..<104))
    }

    @Test @Loop func `a query with the same ID that wants another response is no retransmission`() async throws {
        let fixture = try Fixture()
        try fixture.add(.query("www.example.com", id: 7, edns: TestEDNS()))
        try fixture.add(.query("www.example.com", id: 7, edns: TestEDNS()))
        try fixture.add(.query("www.example.com", id: 7))
        await fixture.responder.asked(2)
        fixture.responder.releaseForEver()
        await fixture.queries.drain()
        #expect(try fixture.replies().count { $0.edns == nil } == 1)
        #expect(fixture.responder.questions.count == 2)
    }

    @Test @Loop func `more replies than one call takes leave with the next, and none is lost`() async throws {
        let fixture = try Fixture()
        for index in 0..<150 { try fixture.add(.query("name.example", id: UInt16(index)), from: "127.0.0.1:1") }
        await fixture.responder.asked(150)
        fixture.responder.releaseForEver()
        await fixture.queries.drain()
        await Loop.executor.idle()
        #expect(fixture.queries.outbox.sends == 3)
        #expect(Set(try fixture.replies().map(\.id)) == Set(0..<150))
    }

    @Test @Loop func `a query that was answered, or handed over, wakes the loop no more`() throws {
        let clock = ManualClock()
        let fixture = try Fixture(clock: clock)
        for name in ["one.example", "two.example"] { try fixture.add(.query(name)) }
        #expect(clock.nextDue == clock.now + TestServer.limits.answer)
        fixture.responder.release("one.example")
        #expect(fixture.queries.takeAll().count == 1)
        #expect(clock.nextDue == nil)
    }

    @Test @Loop func `the same ID with another question, case or port is another waiter`() async throws {
        let fixture = try Fixture()
        try fixture.add(.query("same.example", id: 1))
        try fixture.add(.query("same.example", 28, id: 1))
        try fixture.add(.query("SAME.example", id: 1))
        try fixture.add(.query("same.example", id: 1), from: "192.0.2.1:4001")
        #expect(fixture.queries.count == 4)
        fixture.responder.releaseForEver()
        await fixture.queries.drain()
    }

    /// A query with so many bytes of padding, of which the last is given.
    private func padded(_ count: Int, last: UInt8) -> TestMessage {
        let option = TestEDNS.Option(12, [UInt8](repeating: 0, count: count - 1) + [last])
        return .query("same.example", id: 1, edns: TestEDNS(options: [option]))
    }

    @Test @Loop func `of a long datagram only the start is held, yet all of it tells a retransmission`() async throws {
        let fixture = try Fixture()
        for last: UInt8 in [1, 2, 1, 2] { try fixture.add(padded(1_000, last: last)) }
        #expect(fixture.queries.count == 2)
        let identities = Mirror(reflecting: fixture.queries).descendant("datagrams") as? Set<DatagramIdentity>
        let held = try #require(identities).map { identity in
            Mirror(reflecting: identity).children.reduce(0) { $0 + (($1.value as? [UInt8])?.count ?? 0) }
        }
        #expect(held.count == 2 && held.allSatisfy { $0 < 100 })
        fixture.responder.releaseForEver()
        await fixture.queries.drain()
    }

    @Test @Loop func `the same datagram to another address of the server is another waiter`() async throws {
        let fixture = try Fixture()
        let addresses: [[UInt8]] = (UInt8(1)...2).flatMap { end in
            [[127, 0, 0, end], [UInt8](repeating: 0, count: 15) + [end]]
        }
        for local in addresses + addresses { try fixture.add(.query("same.example", id: 1), to: local) }
        #expect(fixture.queries.count == 4)
        fixture.responder.releaseForEver()
        await fixture.queries.drain()
    }

    @Test @Loop func `a datagram that comes again after its answer is a query again`() async throws {
        let fixture = try Fixture()
        let query = TestMessage.query("same.example", id: 1)
        for count in 1...2 {
            try fixture.add(query)
            await fixture.responder.asked(count)
            fixture.responder.release()
            await fixture.queries.drain()
            #expect(try fixture.replies().count == 1)
        }
    }
}

/// Which queries count as having begun a short time ago.
struct RecentCountTests {
    private func at(_ milliseconds: Int64) -> Instant {
        Instant(nanoseconds: 1_000_000_000_000 + milliseconds * 1_000_000)
    }

    @Test func `a query counts for its span and the next`() {
        var recent = RecentCount(span: .milliseconds(100))
        recent.advance(to: at(0))
        _ = recent.add()
        recent.advance(to: at(99))
        #expect(recent.count == 1)
        recent.advance(to: at(100))
        #expect(recent.count == 1)
        recent.advance(to: at(200))
        #expect(recent.count == 0)
    }

    @Test func `one that ends is not counted any more, and one that ends late changes nothing`() {
        var recent = RecentCount(span: .milliseconds(100))
        recent.advance(to: at(0))
        let (first, second, third) = (recent.add(), recent.add(), recent.add())
        recent.remove(first)
        #expect(recent.count == 2)
        recent.advance(to: at(100))
        recent.remove(second)
        #expect(recent.count == 1)
        recent.advance(to: at(350))
        _ = recent.add()
        recent.remove(third)
        #expect(recent.count == 1)
    }
}
