import CLinux
import DNSWire
import Logging
import Logs
import Platform
import Scheduling
import TestServers
import TestSupport
import Testing

@testable import DNSServer

/// When the loop counts as overloaded, which queries it refuses then and how many it takes, on the test's clock.
@Suite(.onLoop) struct QueryIntakeTests {
    /// A queue of queries that the test takes from, and queries that wait for a resolver which answers on command.
    @Loop
    final class Fixture {
        let clock = ManualClock()
        let responder = FakeResponder()
        let queries: Mailbox<MissedQuery>
        let intake: QueryIntake
        private let pending: PendingQueries
        private let socket: UDPSocket
        private var added = 0

        init() throws {
            var limits = ServerLimits()
            limits.mailbox = 1_000
            limits.intake = 4
            limits.backlogged = 6
            limits.target = .milliseconds(5)
            limits.interval = .milliseconds(100)
            limits.patience = .milliseconds(100)
            // As long as a test needs: no query here is answered SERVFAIL because of its waiting time.
            limits.answer = .seconds(1_000)
            let loop = TestServer.loop
            queries = Mailbox(capacity: limits.mailbox, on: loop, sharedBy: \.origin)
            pending = PendingQueries(
                responder: responder, clock: clock, limits: limits, feed: QueryFeed(on: loop),
                events: EventLog(Logger(label: "test") { _ in SwiftLogNoOpLogHandler() }, clock: clock),
                memory: MemoryReturn(clock: clock) {})
            socket = try UDPSocket.bind(try #require(SocketAddress("127.0.0.1:0"))).sender
            intake = QueryIntake(queries, pending: pending, responder: responder, clock: clock, limits: limits)
        }

        /// A query that has waited for so long.
        func query(waiting milliseconds: Int = 0, from client: String = "127.0.0.1") throws -> MissedQuery {
            added += 1
            return MissedQuery(
                message: TestMessage.query("name\(added).example").encoded,
                client: try #require(SocketAddress("\(client):\(1_024 + added % 60_000)")),
                path: .datagram(DatagramPath(socket: socket, origin: clinux_origin())),
                arrived: clock.now + .milliseconds(-milliseconds))
        }

        /// A turn each 10 ms for so long, in each of which the loop takes `count` queries that have waited for so long.
        func take(_ count: Int, waiting milliseconds: Int, for time: Int) async throws {
            for _ in 0..<(time / 10) {
                _ = intake.room()
                intake.take(try (0..<count).map { _ in try query(waiting: milliseconds) })
                await clock.advance(by: .milliseconds(10))
            }
        }

        /// Adds `count` queries, which wait for the resolver from now on.
        func begin(_ count: Int) throws {
            for _ in 0..<count {
                let query = try query()
                pending.add(query.message, from: query.client, path: query.path, arrived: query.arrived)
            }
        }

        /// Posts queries of a client, after 100 that wait for so long.
        ///
        /// - Returns: whether a further one of that client is taken, and one of another.
        func isTaken(after milliseconds: Int) throws -> (same: Bool, other: Bool) {
            for _ in 0..<100 { _ = queries.post(try query(waiting: milliseconds)) }
            return (queries.post(try query()), queries.post(try query(from: "127.0.0.2")))
        }
    }

    @Test @Loop func `a loop that keeps up takes as many in a turn as allowed, however many wait`() async throws {
        let fixture = try Fixture()
        try await fixture.take(3, waiting: 50, for: 1_000)
        try fixture.begin(50)
        fixture.responder.isBacklogged = true
        #expect(!fixture.intake.isOverloaded && fixture.intake.room() == 4)
    }

    @Test @Loop func `a loop that leaves queries over for 0.1 s, each after a long wait, is overloaded`() async throws {
        let fixture = try Fixture()
        try await fixture.take(4, waiting: 6, for: 100)
        #expect(!fixture.intake.isOverloaded)
        try await fixture.take(4, waiting: 6, for: 10)
        #expect(fixture.intake.isOverloaded)
    }

    @Test @Loop func `a burst that the loop has taken within 0.1 s overloads nothing`() async throws {
        let fixture = try Fixture()
        for _ in 0..<5 {
            try await fixture.take(4, waiting: 90, for: 100)
            try await fixture.take(3, waiting: 90, for: 10)
        }
        #expect(!fixture.intake.isOverloaded)
    }

    @Test @Loop func `a loop that takes many, each at once, is not overloaded`() async throws {
        let fixture = try Fixture()
        try await fixture.take(4, waiting: 5, for: 1_000)
        #expect(!fixture.intake.isOverloaded)
    }

    @Test(arguments: [(3, 50), (4, 1)]) @Loop
    func `an overloaded loop is not any more once nothing is left over, or it has waited for a short time`(
        count: Int, wait: Int
    ) async throws {
        let fixture = try Fixture()
        try await fixture.take(4, waiting: 50, for: 200)
        #expect(fixture.intake.isOverloaded)
        try await fixture.take(count, waiting: wait, for: 10)
        #expect(!fixture.intake.isOverloaded)
        #expect(try fixture.isTaken(after: 200) == (true, true))
    }

    @Test @Loop func `an overloaded loop refuses a client whose first query has waited for 0.1 s, and no other`()
        async throws
    {
        let fixture = try Fixture()
        try await fixture.take(4, waiting: 50, for: 200)
        #expect(try fixture.isTaken(after: 101) == (false, true))
        #expect(fixture.queries.isRefusing)
    }

    @Test @Loop func `an overloaded loop takes a query after others of its client that have waited for less`()
        async throws
    {
        let fixture = try Fixture()
        try await fixture.take(4, waiting: 50, for: 200)
        #expect(try fixture.isTaken(after: 100) == (true, true))
    }

    @Test @Loop func `a loop that was held up for a moment refuses nothing`() throws {
        let fixture = try Fixture()
        #expect(try fixture.isTaken(after: 2_000) == (true, true))
    }

    @Test @Loop func `while requests wait for room at a source an overloaded loop has few under way`() async throws {
        let fixture = try Fixture()
        try await fixture.take(4, waiting: 50, for: 200)
        fixture.responder.isBacklogged = true
        #expect(fixture.intake.room() == 4)
        try fixture.begin(5)
        #expect(fixture.intake.room() == 1)
        try fixture.begin(5)
        #expect(fixture.intake.room() == 0)
        fixture.responder.release("name1.example")
        fixture.responder.isBacklogged = false
        #expect(fixture.intake.room() == 4)
    }

    @Test @Loop func `queries that wait for slow sources take no room in an overloaded loop`() async throws {
        let fixture = try Fixture()
        try await fixture.take(4, waiting: 50, for: 200)
        fixture.responder.isBacklogged = true
        try fixture.begin(50)
        #expect(fixture.intake.room() == 0)
        await fixture.clock.advance(by: .milliseconds(200))
        #expect(fixture.intake.room() == 4)
        try fixture.begin(3)
        #expect(fixture.intake.room() == 3)
        try await fixture.take(1, waiting: 150, for: 10)
        #expect(!fixture.intake.isOverloaded)
    }
}
