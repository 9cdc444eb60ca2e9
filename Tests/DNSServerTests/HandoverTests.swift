import CSystem.Linux
import DNSResolver
import DNSWire
import Glibc
import TestServers
import TestSupport
import Testing

@testable import DNSServer
@testable import Platform

/// One server goes on where another one has stopped.
struct HandoverTests {
    /// What a process finds of the server before: everything that it passed on, as open descriptors.
    @Loop
    private func succeed(_ server: TestServer, sockets: ServerSockets, limit: Int = 100) async throws -> PassedSockets {
        let work = await server.server.handOver(connections: limit)
        var passed: [PassedDescriptor] = []
        func pass(_ numbers: [Int32], as kind: PassedKind) {
            passed += numbers.map { PassedDescriptor(Descriptor(owning: dup($0)), name: kind.rawValue) }
        }
        for (kind, numbers) in sockets.descriptors { pass(numbers, as: kind) }
        try work.lend { queries, connections in
            pass(queries, as: .queries)
            pass(connections, as: .connection)
        }
        return PassedSockets(passed)
    }

    /// Has a second server go on where the first stops, and stops it when `body` is done.
    private func goOn(
        _ first: TestServer, _ sockets: ServerSockets, _ body: @concurrent (TestServer) async throws -> Void
    ) async throws {
        let passed = try await succeed(first, sockets: sockets)
        try await TestServer.run(ServerSockets.bind(sockets.addresses, threads: 2, adopting: passed), body)
    }

    private func bind(threads: Int = 2) throws -> ServerSockets {
        try ServerSockets.bind([try #require(SocketAddress("127.0.0.1:0"))], threads: threads)
    }

    @Test func `what came while no server read is answered by the next one`() async throws {
        let sockets = try bind()
        let first = try await TestServer.start(sockets, responder: .address())
        let passed = try await succeed(first, sockets: sockets)
        let clients = try (0..<64).map { _ in try TestDNSClient(first.address) }
        for client in clients { try client.send(.query("between.example")) }
        let connected = try TestTCPClient(first.address)
        try connected.send([.query("between.example")])
        let second = try ServerSockets.bind(sockets.addresses, threads: 1, adopting: passed)
        #expect(second.adopted == sockets.addresses && second.udp[0].receivers.count == 2)
        try await TestServer.run(second) { _ in
            for client in clients {
                let reply = try client.receive()
                #expect(reply.message.rcode == 0)
            }
            let reply = try connected.receive()
            #expect(reply?.rcode == 0)
        }
    }

    @Test func `a server that has left accepts no connection of the next one's`() async throws {
        let sockets = try bind()
        let first = try await TestServer.start(sockets, responder: .address())
        let passed = try await succeed(first, sockets: sockets)
        let client = try TestTCPClient(first.address)
        await first.turn()
        #expect(await first.server.load.connections == 0)
        withExtendedLifetime((client, passed)) {}
    }

    @Test func `what waited for the resolver is asked again by the next one`() async throws {
        let sockets = try bind()
        let first = try await TestServer.start(sockets, responder: FakeResponder())
        let udp = try TestDNSClient(first.address)
        let tcp = try TestTCPClient(first.address)
        try udp.send(.query("one.example", id: 7, edns: TestEDNS(flags: 0x8000)))
        try tcp.send([.query("two.example", id: 8), .query("three.example", id: 9)])
        await first.responder.asked(3)
        try await goOn(first, sockets) { _ in
            let reply = try udp.receive()
            #expect(reply.message.id == 7 && reply.message.rcode == 0 && reply.message.edns?.dnssecOK == true)
            #expect(reply.from == first.address)
            let ids = [try tcp.receive()?.id, try tcp.receive()?.id]
            #expect(Set(ids) == [8, 9])
            // The connection goes on.
            #expect(try tcp.ask(.query("four.example", id: 10)).id == 10)
        }
    }

    @Test func `queries over TCP that wait for their turn, or for others, are answered by the next one`() async throws {
        let sockets = try bind()
        let first = try await TestServer.start(sockets, responder: FakeResponder())
        let clients = try (0..<4).map { _ in try TestTCPClient(first.address) }
        for (index, client) in clients.enumerated() {
            try client.send((0..<200).map { .query("name\(index)-\($0).example", id: $0) })
        }
        await first.responder.asked(1)
        try await goOn(first, sockets) { _ in
            #expect(await first.responder.questions.count < 800)
            for client in clients {
                let ids = try (0..<200).map { _ in try client.receive()?.id }
                #expect(Set(ids) == Set(0..<200))
            }
        }
    }

    @Test func `half a query over TCP is completed with the next one`() async throws {
        let sockets = try bind()
        let first = try await TestServer.start(sockets, responder: .address())
        let client = try TestTCPClient(first.address)
        #expect(try client.ask(.query("whole.example")).rcode == 0)
        let bytes = TestMessage.query("half.example", id: 5).framed
        try client.send(Array(bytes.prefix(9)))
        await first.turn()
        try await goOn(first, sockets) { _ in
            try client.send(Array(bytes.dropFirst(9)))
            let reply = try client.receive()
            #expect(reply?.id == 5)
        }
    }

    @Test func `connections that find no room with the next process are closed, the idle ones first`() async throws {
        let sockets = try bind()
        let first = try await TestServer.start(sockets, responder: FakeResponder())
        let idle = try TestTCPClient(first.address)
        let busy = try TestTCPClient(first.address)
        try busy.send([.query("one.example")])
        await first.responder.asked(1)
        await first.until { $0.count == 2 }
        let passed = try await succeed(first, sockets: sockets, limit: 1)
        #expect(idle.isClosed(within: .patience))
        try await TestServer.run(try ServerSockets.bind(sockets.addresses, threads: 2, adopting: passed)) { _ in
            let reply = try busy.receive()
            #expect(reply?.rcode == 0)
        }
    }

    /// Without a record, and with an NS record of the root with 600 bytes of no use in the authority section.
    @Test(arguments: [false, true])
    func `a query longer than what is retained is answered without what makes it so`(hasAuthority: Bool) async throws {
        let padding = TestEDNS.Option(12, Array(repeating: 0, count: 600))
        let edns = hasAuthority ? nil : TestEDNS(options: [padding])
        var message = TestMessage.query("long.example", id: 3, edns: edns).encoded
        if hasAuthority {
            message[9] = 1
            message += [0, 0, 2, 0, 1, 0, 0, 0, 0, 2, 0x58] + [UInt8](repeating: 0, count: 600)
        }
        let sockets = try bind()
        let first = try await TestServer.start(sockets, responder: FakeResponder())
        let client = try TestTCPClient(first.address)
        try client.send([UInt8(message.count >> 8), UInt8(message.count & 255)] + message)
        await first.responder.asked(1)
        try await goOn(first, sockets) { _ in
            let reply = try client.receive()
            #expect(reply?.id == 3 && reply?.rcode == 0)
        }
    }

    @Test func `the sockets of another address, and of another number of threads, are closed`() async throws {
        let sockets = try bind()
        let elsewhere = try bind()
        let passed = { (threads: Int?) -> (PassedSockets, [String]) in
            var passed = PassedSockets(
                (sockets.descriptors + elsewhere.descriptors).flatMap { kind, numbers in
                    numbers.map { PassedDescriptor(Descriptor(owning: dup($0)), name: kind.rawValue) }
                })
            return (passed, passed.closeUnfit(sockets.addresses, threads: threads))
        }
        let (stored, closed) = passed(nil)
        let other = elsewhere.addresses[0]
        #expect(closed == ["\(other) (TCP)", "\(other) (UDP)"])
        #expect(stored.udp(at: sockets.addresses[0])?.receivers.count == 2)
        #expect(passed(2).1 == closed)
        #expect(passed(3).1.contains("\(sockets.addresses[0]) (UDP)"))
    }

    @Test func `the sockets of a socket unit are taken as they are`() async throws {
        let unit = try bind(threads: 1)
        var passed = PassedSockets(
            [unit.udp[0].receivers[0].descriptor.number, unit.tcp[0].descriptor.number].map {
                PassedDescriptor(Descriptor(owning: dup($0)), name: "httpdnsd.socket")
            })
        #expect(passed.closeUnfit(unit.addresses, threads: 4).isEmpty)
        let sockets = try ServerSockets.bind(unit.addresses, threads: 4, adopting: passed)
        #expect(sockets.udp[0].receivers.count == 1)
        try await TestServer.run(sockets) { server in
            let overUDP = try TestDNSClient(server.address).ask("unit.example")
            let overTCP = try TestTCPClient(server.address).ask(.query("unit.example"))
            #expect(overUDP.rcode == 0 && overTCP.rcode == 0)
        }
    }

    @Test func `a socket of a unit that was stored besides counts once, whatever the number of threads`() throws {
        let unit = try bind(threads: 1)
        let number = unit.udp[0].receivers[0].descriptor.number
        for names in [["httpdnsd.socket", "httpdnsd-udp"], ["httpdnsd-udp", "httpdnsd.socket"]] {
            var passed = PassedSockets(names.map { PassedDescriptor(Descriptor(owning: dup(number)), name: $0) })
            #expect(passed.closeUnfit(unit.addresses, threads: 4).isEmpty)
            #expect(passed.udp(at: unit.addresses[0])?.receivers.count == 1)
        }
    }

    @Test func `a file of another version, and one that is cut off, lose nothing but what they lack`() throws {
        var work = UnfinishedWork()
        let server = try #require(SocketAddress("127.0.0.1:53"))
        for id: UInt8 in 1...3 {
            work.datagrams.append(
                .init(server: server, origin: clinux_origin(), waited: .milliseconds(250), message: [id]))
        }
        let bytes = work.bytes
        #expect(UnfinishedWork(bytes, []).datagrams.map(\.message) == [[1], [2], [3]])
        #expect(UnfinishedWork(bytes, []).datagrams[0].waited == .milliseconds(250))
        for length in 0..<bytes.count {
            let read = UnfinishedWork(Array(bytes.prefix(length)), []).datagrams.map(\.message)
            #expect(read == Array([[1], [2], [3]].prefix(read.count)))
        }
        var other = bytes
        other[5] ^= 1
        #expect(UnfinishedWork(other, []).datagrams.isEmpty)
    }

    @Test func `how long a query has waited before the handover counts as part of its time`() async throws {
        var sockets = try bind(threads: 1)
        let server = sockets.addresses[0]
        let client = try TestDNSClient(TestAddress("127.0.0.1", port: server.port))
        let origin = clinux_origin(to: try #require(SocketAddress("\(client.localAddress)")))
        let query = TestMessage.query("one.example", id: 4)
        sockets.work.datagrams = [
            .init(server: server, origin: origin, waited: .seconds(2), message: query.encoded)
        ]
        try await TestServer.run(sockets) { server in
            #expect(try client.receive().message.id == 4)
            let arrived = try #require(await server.responder.questions.first?.arrived)
            #expect(arrived <= .bootTime + .seconds(-2))
        }
    }

    @Test(arguments: ["192.0.2.1:5000", "[2001:db8::1]:5000"])
    func `the next process finds the client of a query, and how long it has waited within reason`(text: String) throws {
        let (server, client) = (try #require(SocketAddress("127.0.0.1:53")), try #require(SocketAddress(text)))
        var work = UnfinishedWork()
        for seconds in [-1, 0, 1, 3, 4] {
            work.datagrams.append(
                .init(server: server, origin: clinux_origin(to: client), waited: .seconds(seconds), message: [1]))
        }
        let read = UnfinishedWork(work.bytes, []).datagrams
        let waited: [Duration] = [.zero, .zero, .seconds(1), .seconds(3), .seconds(3)]
        #expect(read.map(\.waited) == waited)
        #expect(read.allSatisfy { $0.client == client && $0.server == server })
    }
}
