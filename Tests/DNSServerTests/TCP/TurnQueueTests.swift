import DNSWire
import Platform
import TestSupport
import Testing

@testable import DNSServer

/// How much is done for each client in a turn of the loop.
@Suite(.onLoop) struct TurnQueueTests {
    /// Connections that do all that they may at once, and wait with the rest.
    @Loop
    private final class Fixture {
        let queue: TurnQueue
        private let loop: EventLoop
        /// How much each client has done, by the end of each turn of the loop.
        private(set) var turns: [[String: Int]] = []
        private(set) var done: [String: Int] = [:]
        private var waiting = 0

        init(on loop: EventLoop, perTurn: Int, capacity: Int = 100) {
            self.loop = loop
            queue = TurnQueue(on: loop, perTurn: perTurn, capacity: capacity)
        }

        /// A connection of a client does so much.
        ///
        /// - Returns: whether it goes on with the rest in its turn.
        @discardableResult
        func work(_ count: Int, of client: String) throws -> Bool {
            proceed(count, of: ConnectionClient(address: try #require(SocketAddress("\(client):1")), transport: .tcp))
        }

        @discardableResult
        private func proceed(_ count: Int, of client: ConnectionClient) -> Bool {
            var left = count
            while left > 0, queue.hasRoom {
                queue.count()
                done["\(client.address.ip)", default: 0] += 1
                left -= 1
            }
            guard left > 0 else { return true }
            let rest = left
            let isWaiting = queue.wait(of: ClientNetwork(client.address.ip)) {
                self.waiting -= 1
                self.proceed(rest, of: client)
            }
            if isWaiting { waiting += 1 }
            return isWaiting
        }

        /// Returns once all is done.
        func finish() async {
            record()
            await awaited { waiting == 0 }
        }

        private func record() {
            loop.atTurnEnd {
                self.turns.append(self.done)
                if self.waiting > 0 { self.record() }
            }
        }
    }

    private let loop = TestServer.loop

    @Test(arguments: [(2, [1, 1, 1, 1, 1]), (64, [150])]) @Loop
    func `so much is done in each turn of the loop, by one connection or many, and the rest in later ones`(
        perTurn: Int, work: [Int]
    ) async throws {
        let fixture = Fixture(on: loop, perTurn: perTurn)
        for count in work { try fixture.work(count, of: "192.0.2.1") }
        await fixture.finish()
        let all = work.reduce(0, +)
        #expect(fixture.turns.map { $0["192.0.2.1"] } == [perTurn, 2 * perTurn, all])
    }

    @Test @Loop func `a client with one connection does as much in a turn as one with many`() async throws {
        let fixture = Fixture(on: loop, perTurn: 10)
        for _ in 0..<30 { try fixture.work(10, of: "192.0.2.1") }
        try fixture.work(15, of: "192.0.2.2")
        await fixture.finish()
        #expect(fixture.turns.prefix(5).map { $0["192.0.2.1"] } == [10, 15, 20, 25, 35])
        #expect(fixture.turns.prefix(5).map { $0["192.0.2.2"] } == [nil, 5, 10, 15, 15])
    }

    @Test @Loop func `of more clients than can have a part in a turn all have one, in order`() async throws {
        let fixture = Fixture(on: loop, perTurn: 4)
        for client in 1...10 { try fixture.work(4, of: "192.0.2.\(client)") }
        await fixture.finish()
        // The first one did all at once.
        for done in fixture.turns {
            let others = (2...10).map { done["192.0.2.\($0)"] ?? 0 }
            #expect((others.max() ?? 0) - (others.min() ?? 0) <= 1)
        }
        #expect(fixture.turns.count == 10)
    }

    @Test @Loop func `one that comes in a later turn is not done before those that wait`() async throws {
        let fixture = Fixture(on: loop, perTurn: 2)
        try fixture.work(5, of: "192.0.2.1")
        await loop.sleep(until: loop.now)
        try fixture.work(1, of: "192.0.2.2")
        #expect(fixture.done == ["192.0.2.1": 2])
        await fixture.finish()
        #expect(fixture.done == ["192.0.2.1": 5, "192.0.2.2": 1])
    }

    @Test @Loop func `so much is done, too, before the loop's first turn`() throws {
        let fixture = Fixture(on: try EventLoop(), perTurn: 2)
        for _ in 0..<3 { try fixture.work(1, of: "192.0.2.1") }
        #expect(fixture.done == ["192.0.2.1": 2])
    }

    @Test @Loop func `when so many wait there is room for a client that has less than its equal part`() async throws {
        let fixture = Fixture(on: loop, perTurn: 1, capacity: 4)
        try fixture.work(1, of: "192.0.2.1")
        let isWaiting = try [1, 1, 1, 1, 1, 2, 2, 2, 3, 3].map { try fixture.work(1, of: "192.0.2.\($0)") }
        #expect(isWaiting == [true, true, true, true, false, true, true, false, true, false])
        await fixture.finish()
        #expect(fixture.done == ["192.0.2.1": 5, "192.0.2.2": 2, "192.0.2.3": 1])
    }
}
