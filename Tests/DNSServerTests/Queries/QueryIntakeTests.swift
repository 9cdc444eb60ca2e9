import CSystem.Linux
import DNSWire
import Platform
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
                responder: responder, clock: clock, limits: limits, outbox: ReplyOutbox(on: loop),
                feed: QueryFeed(on: loop), events: EventLog(.silent, clock: clock),
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
                path: DatagramPath(socket: socket, origin: clinux_origin()),
                arrived: clock.now + .milliseconds(-milliseconds), program: nil)
        }

        /// Turns of the loop for so long, each of which takes 4 queries that wait.
        ///
        /// - Parameters:
        ///   - arriving: how many come between two turns.
        ///   - turn: how long a turn takes, in milliseconds.
        /// - Returns: whether the loop was overloaded after any of them.
        @discardableResult
        func serve(for time: Int, arriving: Int = 0, turn: Int = 10) async throws -> Bool {
            var wasOverloaded = false
            for _ in 0..<(time / turn) {
                await clock.advance(by: .milliseconds(turn))
                try post(arriving)
                let batch = queries.take(intake.room())
                if !batch.isEmpty { intake.take(batch) }
                wasOverloaded = wasOverloaded || intake.isOverloaded
            }
            return wasOverloaded
        }

        /// Posts queries that have waited for so long.
        func post(_ count: Int, waiting milliseconds: Int = 0) throws {
            for _ in 0..<count { _ = queries.post(try query(waiting: milliseconds)) }
        }

        /// Has more queries wait than can be taken, until the loop is overloaded.
        func overload() async throws {
            try post(600)
            #expect(try await serve(for: 200))
        }

        /// Takes in one turn `count` queries that have waited for so long.
        func take(_ count: Int, waiting milliseconds: Int) throws {
            _ = intake.room()
            intake.take(try (0..<count).map { _ in try query(waiting: milliseconds) })
        }

        /// Adds `count` queries, which wait for the resolver from now on.
        ///
        /// - Parameter transport: by which they come.
        func begin(_ count: Int, over transport: Transport = .udp) throws {
            for _ in 0..<count {
                let query = try query()
                let path = transport == .udp ? ReplyPath.datagram(query.path) : .connection(transport, nil) { _ in }
                pending.add(query.message, from: query.client, path: path, arrived: query.arrived)
            }
        }

        /// Posts queries of a client, after 100 that wait for so long.
        ///
        /// - Returns: whether a further one of that client is taken, and one of another.
        func isTaken(after milliseconds: Int) throws -> (same: Bool, other: Bool) {
            _ = queries.take()
            try post(100, waiting: milliseconds)
            return (queries.post(try query()), queries.post(try query(from: "127.0.0.2")))
        }
    }

    @Test @Loop func `a loop that keeps up takes as many in a turn as allowed, however many wait`() async throws {
        let fixture = try Fixture()
        #expect(try await !fixture.serve(for: 1_000, arriving: 3))
        try fixture.begin(50)
        fixture.responder.isBacklogged = true
        #expect(fixture.intake.room() == 4)
    }

    // MARK: What overloads the loop

    /// What a loop has to take that takes 4 queries in each turn.
    struct Load: Sendable {
        /// How many wait at the beginning, and for how many milliseconds they have.
        var waiting = 0
        var since = 0
        /// How many more come in each turn, which takes so many milliseconds.
        var arriving = 0
        var turn = 10
        /// For so many milliseconds it is not overloaded, and some time in so many more it is; 0: it never is.
        var calm = 0
        var overload = 0
    }

    @Test(arguments: [
        // The sooner the more come than are taken.
        Load(waiting: 8, arriving: 5, overload: 1_050), Load(waiting: 8, arriving: 8, overload: 700),
        Load(waiting: 8, arriving: 12, overload: 500), Load(waiting: 8, arriving: 40, overload: 200),
        // Once turns have left queries over for 0.1 s: the first turn begins the time, and the longest does not count.
        Load(waiting: 600, calm: 110, overload: 10),
        // With a queue that is still full after 0.1 s, however fast the loop is.
        Load(waiting: 1_000, arriving: 40, turn: 2, calm: 100, overload: 20),
        // By what it cannot take in 1.2 s, be every turn slow, be it few, or had it come before.
        Load(arriving: 20, turn: 300, overload: 1_200), Load(waiting: 8, arriving: 4, calm: 1_150, overload: 100),
        Load(waiting: 600, since: 300, overload: 200),
        // Not by what it has taken 1.2 s later.
        Load(waiting: 440, since: 300, calm: 1_500), Load(waiting: 200, since: 300, arriving: 2, calm: 1_500),
        Load(waiting: 40, turn: 100, calm: 1_200),
    ]) @Loop
    func `a loop is overloaded by more than it takes in 1.2 s, once some wait for 0.1 s`(load: Load) async throws {
        let fixture = try Fixture()
        try fixture.post(load.waiting, waiting: load.since)
        #expect(try await !fixture.serve(for: load.calm, arriving: load.arriving, turn: load.turn))
        let isOverloaded = try await fixture.serve(for: load.overload, arriving: load.arriving, turn: load.turn)
        #expect(isOverloaded == (load.overload > 0))
        if load.overload == 0 { #expect(fixture.queries.isEmpty) }
    }

    @Test @Loop func `a burst within a steady load overloads nothing`() async throws {
        let fixture = try Fixture()
        for _ in 0..<5 {
            #expect(try await !fixture.serve(for: 500, arriving: 1))
            try fixture.post(300)
            #expect(try await !fixture.serve(for: 1_100, arriving: 1))
        }
    }

    @Test(arguments: [500, 2_000, 3_600_000]) @Loop
    func `a loop that does not run for a while, as in a stopped process, is not overloaded`(pause: Int) async throws {
        let fixture = try Fixture()
        try fixture.post(300)
        #expect(try await !fixture.serve(for: 50, arriving: 1))
        await fixture.clock.advance(by: .milliseconds(pause))
        #expect(try await !fixture.serve(for: 1_000, arriving: 1))
        #expect(fixture.queries.isEmpty)
    }

    @Test @Loop func `a loop that was held up for a moment refuses nothing`() throws {
        let fixture = try Fixture()
        #expect(try fixture.isTaken(after: 2_000) == (true, true))
    }

    @Test @Loop func `a loop that takes many, each at once, is not overloaded`() async throws {
        let fixture = try Fixture()
        for _ in 0..<150 {
            try fixture.take(4, waiting: 5)
            await fixture.clock.advance(by: .milliseconds(10))
        }
        #expect(!fixture.intake.isOverloaded)
    }

    // MARK: While it is overloaded

    @Test(arguments: [(3, 50), (4, 1)]) @Loop
    func `an overloaded loop is not any more once nothing is left over, or it has waited for a short time`(
        count: Int, wait: Int
    ) async throws {
        let fixture = try Fixture()
        try await fixture.overload()
        try fixture.take(count, waiting: wait)
        #expect(!fixture.intake.isOverloaded)
        #expect(try fixture.isTaken(after: 200) == (true, true))
    }

    @Test @Loop func `an overloaded loop refuses clients whose first query has waited 0.1 s, no other`() async throws {
        let fixture = try Fixture()
        try await fixture.overload()
        #expect(try fixture.isTaken(after: 101) == (false, true))
        #expect(fixture.queries.isRefusing)
    }

    @Test @Loop func `an overloaded loop takes a query after others of its client that waited less`() async throws {
        let fixture = try Fixture()
        try await fixture.overload()
        #expect(try fixture.isTaken(after: 100) == (true, true))
    }

    @Test @Loop func `while requests wait for room at a source an overloaded loop has few under way`() async throws {
        let fixture = try Fixture()
        try await fixture.overload()
        fixture.responder.isBacklogged = true
        #expect(fixture.intake.room() == 4)
        try fixture.begin(5)
        #expect(fixture.intake.room() == 1)
        try fixture.begin(5)
        #expect(fixture.intake.room() == 0)
        fixture.responder.isBacklogged = false
        #expect(fixture.intake.room() == 4)
    }

    @Test @Loop func `queries over connections take no room of those over UDP in an overloaded loop`() async throws {
        let fixture = try Fixture()
        try await fixture.overload()
        fixture.responder.isBacklogged = true
        try fixture.begin(50, over: .tcp)
        #expect(fixture.intake.room() == 4)
        fixture.responder.release()
        try fixture.begin(5)
        #expect(fixture.intake.room() == 1)
    }

    @Test @Loop func `queries that wait for slow sources take no room in an overloaded loop`() async throws {
        let fixture = try Fixture()
        try await fixture.overload()
        fixture.responder.isBacklogged = true
        try fixture.begin(50)
        #expect(fixture.intake.room() == 0)
        await fixture.clock.advance(by: .milliseconds(200))
        #expect(fixture.intake.room() == 4)
        try fixture.begin(3)
        #expect(fixture.intake.room() == 3)
        try fixture.take(1, waiting: 150)
        #expect(!fixture.intake.isOverloaded)
    }
}
