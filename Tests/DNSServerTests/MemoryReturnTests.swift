import DNSCache
import DNSResolver
import DNSWire
import Glibc
import Platform
import TestServers
import TestSupport
import Testing

@testable import DNSServer

@Suite(.onLoop) struct MemoryReturnTests {
    /// Counts how often memory is returned.
    @Loop
    private final class Count {
        var value = 0
    }

    private let clock = ManualClock()
    private let count = Count()

    @Loop private func makeReturn() -> MemoryReturn {
        MemoryReturn(clock: clock) { [count] in count.value += 1 }
    }

    @Test @Loop func `memory is returned once, a second after the end of a burst`() async {
        let memory = makeReturn()
        memory.burst()
        memory.emptied()
        await clock.advance(by: .milliseconds(999))
        #expect(count.value == 0)
        memory.emptied()
        await clock.advance(by: .milliseconds(1))
        #expect(count.value == 1)
        memory.emptied()
        await clock.advance(by: .seconds(60))
        #expect(count.value == 1)
    }

    @Test @Loop func `without a burst nothing is done, and nothing wakes the loop`() {
        makeReturn().emptied()
        #expect(clock.nextDue == nil)
    }

    @Test @Loop func `the next burst puts it off until that has ended`() async {
        let memory = makeReturn()
        memory.burst()
        memory.emptied()
        memory.burst()
        await clock.advance(by: .seconds(60))
        #expect(count.value == 0)
        memory.emptied()
        await clock.advance(by: .seconds(1))
        #expect(count.value == 1)
    }

    /// A table of connections.
    @Loop private func makeConnections(_ memory: MemoryReturn) -> Connections {
        let loop = TestServer.loop
        let events = EventLog(.silent, clock: loop)
        return Connections(
            "TCP", capacity: 100, loop: loop, limits: TestServer.limits, bytes: BufferedBytes(limit: .max),
            turns: TurnQueue(on: loop, perTurn: 64, capacity: 100), events: events, memory: memory)
    }

    @Test(arguments: [(MemoryReturn.connections - 1, 0), (MemoryReturn.connections, 1)]) @Loop
    func `many connections at once are a burst, which ends with the last of them, and a few are not`(
        connections: Int, expected: Int
    ) async throws {
        let table = makeConnections(makeReturn())
        let site = HTTPSite(nil, events: EventLog(.silent, clock: table.loop), clock: table.loop)
        let peer = try #require(SocketAddress("192.0.2.1:1"))
        var clients: [Int32] = []
        defer { for client in clients { _ = close(client) } }
        for _ in 0..<connections {
            var pair: [Int32] = [0, 0]
            try #require(socketpair(AF_UNIX, Int32(SOCK_STREAM.rawValue | SOCK_NONBLOCK.rawValue), 0, &pair) == 0)
            table.admit(Descriptor(owning: pair[0]), from: peer) {
                HTTPServerConnection(
                    $0, client: .init(address: peer, transport: .tcp), alpn: nil, at: site, in: table.context)
            }
            clients.append(pair[1])
        }
        #expect(table.count == connections)
        await clock.advance(by: .seconds(60))
        #expect(count.value == 0)
        table.closeAll()
        await clock.advance(by: .seconds(1))
        #expect(count.value == expected)
    }

    @Test @Loop func `many queries that waited are a burst, and a few are not`() async throws {
        for (queries, expected) in [(10, 0), (MemoryReturn.queries, 1)] {
            count.value = 0
            let fixture = try PendingQueriesTests.Fixture(memory: makeReturn())
            for index in 0..<queries { try fixture.add(.query("one.example", id: UInt16(index))) }
            fixture.responder.releaseForEver()
            await fixture.queries.drain()
            await clock.advance(by: .seconds(1))
            #expect(count.value == expected)
        }
    }
}
