import CLinux
import DNSWire
import Logging
import Logs
import Platform
import Scheduling
import TestSupport
import Testing

@testable import DNSServer

/// How many queries the loop takes from the UDP threads, with a clock and a load that the test sets.
@Suite(.onLoop) struct QueryIntakeTests {
    /// A loop with a simulated load, and queries that wait for a resolver which answers on command.
    @Loop
    final class Fixture {
        /// The loop's simulated load.
        @Loop
        final class Load {
            var isSaturated = false
            var cpuTime = CPUTime(thread: .zero, process: .zero)
            var cpuTimesAsked = 0

            nonisolated init() {}
        }

        let clock = ManualClock()
        let responder = FakeResponder()
        let queries: Mailbox<MissedQuery>
        let pending: PendingQueries
        let intake: QueryIntake
        let refusals = RefusalShare()
        private let load = Load()
        private let limits: ServerLimits
        private let socket: UDPSocket
        private var added = 0

        init() throws {
            var limits = ServerLimits()
            limits.mailbox = 20
            limits.intake = 4
            limits.saturated = 10
            limits.backlogged = 6
            limits.flood = 3
            limits.saturation = .milliseconds(100)
            // As long as a test needs: no query here is answered SERVFAIL because of its waiting time.
            limits.answer = .seconds(1_000)
            self.limits = limits
            let loop = TestServer.loop
            queries = Mailbox(capacity: limits.mailbox, on: loop)
            pending = PendingQueries(
                responder: responder, clock: clock, limits: limits, feed: QueryFeed(on: loop),
                events: EventLog(Logger(label: "test") { _ in SwiftLogNoOpLogHandler() }, clock: clock),
                memory: MemoryReturn(clock: clock) {})
            socket = try UDPSocket.bind(try #require(SocketAddress("127.0.0.1:0"))).sender
            intake = QueryIntake(
                queries, pending: pending, responder: responder, clock: clock, limits: limits, refusals: refusals,
                cpuTime: { [load] in
                    load.cpuTimesAsked += 1
                    return load.cpuTime
                }
            ) { [load] in load.isSaturated }
        }

        /// Lets 100 ms pass in which the loop used `loop` ms of CPU and our other threads `others`, and `refusing`
        /// queries were refused.
        func pass(loop: Int, others: Int, refusing: Int = 3) async {
            for _ in 0..<refusing { _ = refusals.refuse() }
            load.cpuTime.thread += .milliseconds(loop)
            load.cpuTime.process += .milliseconds(loop + others)
            await clock.advance(by: .milliseconds(100))
        }

        var cpuTimesAsked: Int { load.cpuTimesAsked }

        var isSaturated: Bool {
            get { load.isSaturated }
            set { load.isSaturated = newValue }
        }

        private var miss: MissedQuery {
            get throws {
                added += 1
                return MissedQuery(
                    message: TestMessage.query("name\(added).example").encoded,
                    client: try #require(SocketAddress("127.0.0.1:\(1_024 + added % 60_000)")),
                    path: DatagramPath(socket: socket, origin: clinux_origin()), arrived: clock.now)
            }
        }

        /// Adds `count` queries, which wait from now on.
        func begin(_ count: Int) throws {
            for _ in 0..<count {
                let miss = try miss
                pending.add(miss.message, from: miss.client, path: .datagram(miss.path), arrived: miss.arrived)
            }
        }

        /// Adds `count` queries and answers all that wait.
        func finish(_ count: Int) async throws {
            try begin(count)
            await responder.asked(added)
            responder.release()
        }

        /// Posts queries until the mailbox is full.
        ///
        /// - Returns: how many it took.
        func posted() throws -> Int {
            var count = 0
            while queries.post(try miss) { count += 1 }
            return count
        }
    }

    @Test @Loop func `a loop that rests takes as many in a turn as allowed, however many wait`() throws {
        let fixture = try Fixture()
        try fixture.begin(50)
        #expect(fixture.intake.room() == 4)
        #expect(try fixture.posted() == 20)
    }

    @Test @Loop func `a saturated loop takes no more than it keeps up with, and none when so many wait`() throws {
        let fixture = try Fixture()
        fixture.isSaturated = true
        #expect(fixture.intake.room() == 4)
        try fixture.begin(8)
        #expect(fixture.intake.room() == 2)
        try fixture.begin(2)
        #expect(fixture.intake.room() == 0)
        try fixture.begin(5)
        #expect(fixture.intake.room() == 0)
    }

    @Test @Loop func `an answer makes room for the next query`() async throws {
        let fixture = try Fixture()
        fixture.isSaturated = true
        _ = fixture.intake.room()
        try fixture.begin(10)
        #expect(fixture.intake.room() == 0)
        await fixture.responder.asked(10)
        fixture.responder.release("name1.example")
        #expect(fixture.intake.room() == 1)
        fixture.responder.release()
        #expect(fixture.intake.room() == 4)
    }

    @Test @Loop func `on the way to a saturated loop are as many as it keeps up with, and the next is refused`() throws
    {
        let fixture = try Fixture()
        fixture.isSaturated = true
        _ = fixture.intake.room()
        #expect(try fixture.posted() == 10)
        #expect(fixture.queries.isRefusing)
    }

    @Test @Loop func `a saturated loop takes on what it finished in the last interval, also when measured late`()
        async throws
    {
        let fixture = try Fixture()
        // 36 in 200 ms are 18 in 100 ms.
        try await fixture.finish(36)
        await fixture.clock.advance(by: .milliseconds(200))
        fixture.isSaturated = true
        try fixture.begin(16)
        #expect(fixture.intake.room() == 2)
        #expect(try fixture.posted() == 18)
        // None in the next interval.
        await fixture.clock.advance(by: .milliseconds(100))
        #expect(fixture.intake.room() == 0)
    }

    @Test @Loop func `what fails does not let a saturated loop take on more`() async throws {
        let fixture = try Fixture()
        try fixture.begin(18)
        await fixture.responder.asked(18)
        fixture.responder.fail()
        await fixture.clock.advance(by: .milliseconds(100))
        fixture.isSaturated = true
        _ = fixture.intake.room()
        #expect(try fixture.posted() == 10)
    }

    @Test @Loop
    func `a loop that rests again while queries are refused takes on twice as many in each interval, and finally all`()
        async throws
    {
        let fixture = try Fixture()
        fixture.isSaturated = true
        _ = fixture.intake.room()
        try fixture.begin(18)
        fixture.isSaturated = false
        await fixture.pass(loop: 50, others: 10)
        #expect(try fixture.posted() == 20)
        #expect(fixture.intake.room() == 2)
        try fixture.begin(2)
        #expect(fixture.intake.room() == 0)
        // 6 of `backlogged` doubled twice are the 20 that a loop at rest takes.
        await fixture.pass(loop: 50, others: 10)
        #expect(fixture.intake.room() == 4)
    }

    @Test @Loop func `a loop that waits for its sources and not for its CPU refuses none silently`() async throws {
        let fixture = try Fixture()
        fixture.isSaturated = true
        _ = fixture.intake.room()
        fixture.isSaturated = false
        await fixture.pass(loop: 1, others: 10)
        #expect(fixture.refusals.current == RefusalShare.whole)
    }

    @Test @Loop func `a loop that rests does not read CPU times`() async throws {
        let fixture = try Fixture()
        for _ in 0..<10 {
            await fixture.pass(loop: 10, others: 10)
            _ = fixture.intake.room()
        }
        #expect(fixture.cpuTimesAsked == 0)
    }

    @Test @Loop func `a loop that has no rest again takes on no more than it keeps up with`() async throws {
        let fixture = try Fixture()
        fixture.isSaturated = true
        _ = fixture.intake.room()
        fixture.isSaturated = false
        await fixture.pass(loop: 50, others: 10)
        fixture.isSaturated = true
        await fixture.pass(loop: 99, others: 10)
        #expect(try fixture.posted() == 10)
    }

    @Test @Loop
    func `while requests wait for room at a source a saturated loop has few under way, and as many on the way`()
        async throws
    {
        let fixture = try Fixture()
        try await fixture.finish(18)
        await fixture.clock.advance(by: .milliseconds(100))
        fixture.responder.isBacklogged = true
        fixture.isSaturated = true
        try fixture.begin(5)
        #expect(fixture.intake.room() == 1)
        try fixture.begin(1)
        #expect(fixture.intake.room() == 0)
        #expect(try fixture.posted() == 18)
    }

    @Test @Loop func `connections share what a saturated loop has under way while requests wait for room at a source`()
        async
        throws
    {
        let fixture = try Fixture()
        try await fixture.finish(18)
        await fixture.clock.advance(by: .milliseconds(100))
        fixture.responder.isBacklogged = true
        fixture.isSaturated = true
        _ = fixture.intake.room()
        #expect(fixture.intake.share(of: 2) == 3)
    }

    @Test @Loop func `a loop that rests takes all on though requests wait for room at a source`() throws {
        let fixture = try Fixture()
        fixture.responder.isBacklogged = true
        try fixture.begin(50)
        #expect(fixture.intake.room() == 4)
    }

    @Test @Loop func `on the way are never more than to a loop that rests`() async throws {
        let fixture = try Fixture()
        try await fixture.finish(500)
        await fixture.clock.advance(by: .milliseconds(100))
        fixture.isSaturated = true
        #expect(fixture.intake.room() == 4)
        #expect(try fixture.posted() == 20)
    }

    @Test @Loop func `a loop that finishes little takes on as many as the least that counts`() async throws {
        let fixture = try Fixture()
        fixture.isSaturated = true
        _ = fixture.intake.room()
        try await fixture.finish(1)
        await fixture.clock.advance(by: .milliseconds(500))
        try fixture.begin(9)
        #expect(fixture.intake.room() == 1)
        #expect(try fixture.posted() == 10)
    }

    @Test @Loop func `with rest again everything is taken after the interval, and not before`() async throws {
        let fixture = try Fixture()
        fixture.isSaturated = true
        _ = fixture.intake.room()
        try fixture.begin(30)
        fixture.isSaturated = false
        await fixture.clock.advance(by: .milliseconds(99))
        #expect(fixture.intake.room() == 0)
        #expect(try fixture.posted() == 10)
        await fixture.clock.advance(by: .milliseconds(1))
        #expect(fixture.intake.room() == 4)
        // Queries that are on the way already stay.
        #expect(try fixture.posted() == 10)
    }

    @Test @Loop func `without rest for longer, no more is taken than before`() async throws {
        let fixture = try Fixture()
        fixture.isSaturated = true
        _ = fixture.intake.room()
        try fixture.begin(10)
        await fixture.clock.advance(by: .milliseconds(350))
        #expect(try fixture.posted() == 10)
        #expect(fixture.intake.room() == 0)
        fixture.isSaturated = false
        await fixture.clock.advance(by: .milliseconds(100))
        #expect(fixture.intake.room() == 4)
    }

    @Test @Loop func `a loop that rests takes of each connection as many as allowed`() throws {
        let fixture = try Fixture()
        #expect(fixture.intake.share(of: 1_000) == ServerLimits().pendingPerConnection)
    }

    @Test @Loop func `the connections of a saturated loop share what it keeps up with, at least one each`() throws {
        let fixture = try Fixture()
        fixture.isSaturated = true
        _ = fixture.intake.room()
        #expect([0, 1, 2, 3, 10, 11, 1_000].map { fixture.intake.share(of: $0) } == [10, 10, 5, 3, 1, 1, 1])
    }

    @Test @Loop func `the more wait by UDP, the less is taken from connections, but half in any case`() throws {
        let fixture = try Fixture()
        fixture.isSaturated = true
        _ = fixture.intake.room()
        try fixture.begin(3)
        #expect(fixture.intake.share(of: 1) == 7)
        try fixture.begin(7)
        #expect(fixture.intake.share(of: 1) == 5)
    }

    @Test @Loop func `as our other threads keep a saturated loop from its CPU, ever fewer get SERVFAIL`() async throws {
        let fixture = try Fixture()
        fixture.isSaturated = true
        _ = fixture.intake.room()
        await fixture.pass(loop: 75, others: 25)
        #expect(fixture.refusals.current == 56)
        await fixture.pass(loop: 75, others: 25)
        #expect(fixture.refusals.current == 49)
        for _ in 0..<100 { await fixture.pass(loop: 0, others: 100) }
        #expect(fixture.refusals.current == RefusalShare.least)
    }

    @Test @Loop func `all get SERVFAIL while a saturated loop has its CPU, whatever other threads use`() async throws {
        let fixture = try Fixture()
        fixture.isSaturated = true
        _ = fixture.intake.room()
        await fixture.pass(loop: 76, others: 24)
        await fixture.pass(loop: 99, others: 400)
        #expect(fixture.refusals.current == RefusalShare.whole)
    }

    @Test @Loop func `all get SERVFAIL while other programs keep a saturated loop from its CPU`() async throws {
        let fixture = try Fixture()
        fixture.isSaturated = true
        _ = fixture.intake.room()
        await fixture.pass(loop: 23, others: 7)
        #expect(fixture.refusals.current == RefusalShare.whole)
    }

    @Test @Loop func `all get SERVFAIL while few are refused, whatever keeps the loop from its CPU`() async throws {
        let fixture = try Fixture()
        fixture.isSaturated = true
        _ = fixture.intake.room()
        await fixture.pass(loop: 10, others: 90, refusing: 2)
        #expect(fixture.refusals.current == RefusalShare.whole)
    }

    @Test @Loop func `more get SERVFAIL again, and in the end all, when nothing is refused or the loop has its CPU`()
        async throws
    {
        let fixture = try Fixture()
        fixture.isSaturated = true
        _ = fixture.intake.room()
        await fixture.pass(loop: 10, others: 90)
        #expect(fixture.refusals.current == 56)
        await fixture.pass(loop: 76, others: 24)
        #expect(fixture.refusals.current == 58)
        await fixture.pass(loop: 10, others: 90, refusing: 0)
        #expect(fixture.refusals.current == 60)
        fixture.isSaturated = false
        for _ in 0..<10 {
            await fixture.pass(loop: 1, others: 9, refusing: 0)
            _ = fixture.intake.room()
        }
        #expect(fixture.refusals.current == RefusalShare.whole)
    }
}
