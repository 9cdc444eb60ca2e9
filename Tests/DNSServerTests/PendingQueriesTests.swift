import CLinux
import DNSWire
import Glibc
import Logging
import Logs
import Platform
import Scheduling
import TestSupport
import Testing

@testable import DNSServer

@Suite(.onLoop) struct PendingQueriesTests {
    /// Queries of made-up clients; every reply comes to one real socket.
    @Loop
    final class Fixture {
        let responder = FakeResponder()
        let queries: PendingQueries
        private let sockets: UDPSockets
        private let received: UDPSocket

        init(_ limits: ServerLimits = TestServer.limits) throws {
            let loop = TestServer.loop
            queries = PendingQueries(
                responder: responder, clock: loop, limits: limits, feed: QueryFeed(on: loop),
                events: EventLog(Logger(label: "test") { _ in SwiftLogNoOpLogHandler() }, clock: loop))
            let any = try #require(SocketAddress("127.0.0.1:0"))
            sockets = try UDPSocket.bind(any)
            received = try UDPSocket.bind(any).receivers[0]
        }

        /// Adds a query as from `client`.
        func add(_ query: TestMessage, from client: String = "192.0.2.1:4000") throws {
            var origin = clinux_origin()
            received.address.withSockaddr { address, length in
                memcpy(&origin.peer, address, Int(length))
                origin.peer_length = length
            }
            queries.add(
                query.encoded, from: try #require(SocketAddress(client)),
                path: .datagram(DatagramPath(socket: sockets.sender, origin: origin)), arrived: TestServer.loop.now)
        }

        /// The replies that have been sent.
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

    @Test @Loop func `a client has 64 queries outstanding, and is told SERVFAIL beyond`() async throws {
        let fixture = try Fixture()
        for index in 0..<65 { try fixture.add(.query("name\(index).example", id: UInt16(index), edns: TestEDNS())) }
        let replies = try fixture.replies()
        #expect(replies.map(\.id) == [64])
        #expect(replies.first?.rcode == 2)
        #expect(replies.first?.extendedErrors == [0])
        #expect(fixture.queries.count == 64)
        await fixture.responder.asked(64)
        fixture.responder.releaseForEver()
        await fixture.queries.drain()
        #expect(try fixture.replies().count == 64)
    }

    @Test @Loop func `replies that become ready together leave with one system call`() async throws {
        let fixture = try Fixture()
        try fixture.add(.query("www.example.com", id: 1))
        try fixture.add(.query("www.example.com", id: 2))
        await fixture.responder.asked(2)
        fixture.responder.releaseForEver()
        await fixture.queries.drain()
        await Loop.executor.idle()
        #expect(fixture.queries.outbox.sends == 1)
        #expect(try fixture.replies().map(\.id).sorted() == [1, 2])
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

    @Test @Loop func `another client is not kept out by one at its limit`() async throws {
        var limits = TestServer.limits
        limits.pendingPerClient = 1
        let fixture = try Fixture(limits)
        try fixture.add(.query("one.example"), from: "192.0.2.1:1")
        try fixture.add(.query("two.example"), from: "192.0.2.2:1")
        try fixture.add(.query("three.example"), from: "[2001:db8::1]:1")
        #expect(try fixture.replies().isEmpty)
        #expect(fixture.queries.count == 3)
        fixture.responder.releaseForEver()
        await fixture.queries.drain()
    }

    @Test @Loop func `an answer makes room for the next query of its client`() async throws {
        var limits = TestServer.limits
        limits.pendingPerClient = 1
        let fixture = try Fixture(limits)
        for name in ["one.example", "two.example"] {
            try fixture.add(.query(name))
            await fixture.responder.asked(name == "one.example" ? 1 : 2)
            fixture.responder.release()
            await fixture.queries.drain()
            #expect(try fixture.replies().map(\.rcode) == [0])
        }
    }

    @Test(arguments: ["127.0.0.1:1", "127.1.2.3:1", "[::1]:1"])
    @Loop func `loopback clients have no limit of their own`(client: String) async throws {
        var limits = TestServer.limits
        limits.pendingPerClient = 1
        let fixture = try Fixture(limits)
        for index in 0..<10 { try fixture.add(.query("name\(index).example"), from: client) }
        #expect(fixture.queries.count == 10)
        fixture.responder.releaseForEver()
        await fixture.queries.drain()
    }

    @Test @Loop func `all clients together have a limit`() async throws {
        var limits = TestServer.limits
        limits.pending = 3
        let fixture = try Fixture(limits)
        for index in 0..<4 { try fixture.add(.query("name\(index).example"), from: "127.0.0.\(index + 1):1") }
        #expect(try fixture.replies().map(\.rcode) == [2])
        #expect(fixture.queries.count == 3)
        fixture.responder.releaseForEver()
        await fixture.queries.drain()
    }

    @Test @Loop func `a repeated datagram does not count against its client`() async throws {
        var limits = TestServer.limits
        limits.pendingPerClient = 2
        let fixture = try Fixture(limits)
        let query = TestMessage.query("same.example", id: 1)
        for _ in 0..<5 { try fixture.add(query) }
        #expect(fixture.queries.count == 1)
        #expect(try fixture.replies().isEmpty)
        fixture.responder.releaseForEver()
        await fixture.queries.drain()
        #expect(try fixture.replies().count == 1)
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
