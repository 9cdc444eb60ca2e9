import DNSResolver
import DNSWire
import Platform
import TestServers
import TestSupport
import Testing

@testable import DNSServer
@testable import Platform

struct ServerTests {
    @Test func `a stop waits for the answers that are outstanding`() async throws {
        try await TestServer.run(responder: FakeResponder()) { server in
            let udp = try TestDNSClient(server.address)
            let tcp = try TestTCPClient(server.address)
            try udp.send(.query("one.example"))
            try tcp.send([.query("two.example")])
            await server.responder.asked(2)
            let stop = Task { await server.server.stop() }
            #expect(!tcp.isClosed(within: .milliseconds(100)))
            await server.responder.release()
            #expect(try udp.receive().message.rcode == 0)
            #expect(try tcp.receive()?.rcode == 0)
            #expect(tcp.isClosed(within: .patience))
            await stop.value
        }
    }

    @Test func `while a stop waits for an answer, cached ones are given, and nothing new is begun`() async throws {
        try await TestServer.run(threads: 2, responder: FakeResponder()) { server in
            try server.store("cached.example")
            let slow = try TestDNSClient(server.address)
            let tcp = try TestTCPClient(server.address)
            #expect(try tcp.ask(.query("cached.example")).rcode == 0)
            try slow.send(.query("slow.example"))
            await server.responder.asked(1)
            let stop = Task { @Loop in await server.server.stop() }
            // An idle connection is closed after the threads have handed over their last question.
            #expect(tcp.isClosed(within: .patience))
            // From several clients, so that both threads are asked.
            for _ in 0..<20 {
                let client = try TestDNSClient(server.address)
                try client.send(.query("new.example"))
                #expect(try client.ask("cached.example").rcode == 0)
            }
            #expect(await server.responder.questions.count == 1)
            await server.responder.release()
            #expect(try slow.receive().message.rcode == 0)
            await stop.value
        }
    }

    @Test func `a stop answers what the kernel had already taken`() async throws {
        try await TestServer.run { server in
            let client = try TestDNSClient(server.address)
            let queries = (0..<200).map { TestMessage.query("name\($0).example", id: UInt16($0)) }
            for query in queries { try client.send(query) }
            await server.server.stop()
            var ids: Set<UInt16> = []
            while let reply = try client.receiveIfAny(within: .zero) { ids.insert(reply.message.id) }
            #expect(ids.count == 200)
        }
    }

    @Test func `what came to the socket for late replies before it only sent is answered`() async throws {
        let any = try #require(SocketAddress("127.0.0.1:0"))
        let sockets = try UDPSocket.bind(any, count: 2, isBlocking: true)
        let address = TestAddress("127.0.0.1", port: sockets.sender.address.port)
        // The kernel delivers half of these to the socket that only sends later.
        let clients = try (0..<64).map { _ in try TestDNSClient(address) }
        for client in clients { try client.send(.query("early.example")) }
        let server = ServerSockets(
            udp: [UDPSockets(receivers: [sockets.receivers[0]], sender: sockets.receivers[1])],
            tcp: [try ListeningSocket(any)])
        try await TestServer.run(server) { _ in
            for client in clients {
                let reply = try client.receive()
                #expect(reply.message.rcode == 0)
            }
        }
    }

    @Test func `the loop holds no listener that has stopped`() async throws {
        try await TestServer.run { server in
            let isGone = try await server.forgetsListener()
            #expect(isGone)
        }
    }

    @Test func `a question without an answer does not delay a stop forever`() async throws {
        var limits = TestServer.limits
        limits.drain = .milliseconds(100)
        limits.answer = .milliseconds(50)
        try await TestServer.run(limits: limits, responder: FakeResponder()) { server in
            let client = try TestTCPClient(server.address)
            try client.send([.query("never.example")])
            await server.responder.asked(1)
            await server.server.stop()
            #expect(try client.receive()?.rcode == 2)
        }
    }

    @Test func `every response is counted by its transport, the family of its client, and its code`() async throws {
        let (hosts, allow) = (["127.0.0.1", "::1"], ["127.0.0.1/32", "::1/128"])
        try await TestServer.run(on: hosts, allow: allow) { server in
            try server.store("hit.example")
            for address in server.addresses {
                let (udp, tcp) = (try TestDNSClient(address), try TestTCPClient(address))
                for name in ["hit.example", "miss.example", "other.example"] {
                    #expect(try udp.ask(name).rcode == 0)
                    #expect(try tcp.ask(.query(name)).rcode == 0)
                }
            }
            #expect(try TestDNSClient(server.address, from: "127.0.0.2").ask("hit.example").rcode == 5)
            #expect(try TestTCPClient(server.address, from: "127.0.0.2").ask(.query("hit.example")).rcode == 5)
            let counts = await server.server.responses.map { each in
                "\(each.transport.rawValue) \(each.isIPv6 ? 6 : 4) \(each.code.rawValue): \(each.count)"
            }
            // How many are answered, and how many fail, is always said.
            #expect(
                counts == [
                    "UDP 4 0: 3", "UDP 4 2: 0", "UDP 4 5: 1", "UDP 6 0: 3", "UDP 6 2: 0",
                    "TCP 4 0: 3", "TCP 4 2: 0", "TCP 4 5: 1", "TCP 6 0: 3", "TCP 6 2: 0",
                ])
        }
    }

    @Test func `of the loop's answers those from the cache are counted as hits, and no refusal is`() async throws {
        try await TestServer.run(allow: ["127.0.0.1/32"]) { server in
            try server.store("hit.example")
            let client = try TestTCPClient(server.address)
            var other = TestMessage.query("op.example")
            other.flags |= 0x1000
            #expect(try client.ask(other).rcode == 4)
            #expect(try TestTCPClient(server.address, from: "127.0.0.2").ask(.query("hit.example")).rcode == 5)
            var counts: [Int] = []
            for _ in 0..<2 {
                counts.append(await server.server.latencies(.cache).counts.reduce(0, +))
                #expect(try client.ask(.query("hit.example")).rcode == 0)
            }
            #expect(counts == [0, 1])
        }
    }

    @Test(arguments: [(10, "1 were answered with SERVFAIL"), (0, "0 were answered with SERVFAIL, 1 not at all")])
    func `the first query that finds no room is reported, even if it is the only one, answered or not`(
        refusals: Int, text: String
    ) async throws {
        let (limits, log) = (ServerLimits.test { ($0.mailbox, $0.refusals) = (1, refusals) }, LogRecorder())
        try await TestServer.run(limits: limits, logger: log.logger) { server in
            try server.store("hit.example")
            let client = try TestDNSClient(server.address)
            let gate = LoopGate()
            gate.close()
            for name in ["one.example", "two.example"] { try client.send(.query(name, edns: TestEDNS())) }
            // The thread has handled those before, and refused the second one.
            try client.send(.query("hit.example"))
            let refused = refusals > 0 ? try client.receive().message : nil
            #expect(refused?.rcode == (refusals > 0 ? 2 : nil) && refused?.extendedErrors ?? [0] == [0])
            #expect(try client.receive().message.questions == [.init("hit.example")])
            gate.open()
            #expect(try client.receive().message.questions == [.init("one.example")])
            await server.turn()
            #expect(log.lines == ["more queries come than can be taken: \(text)"])
        }
    }

    @Test func `after a stop another server takes the same port`() async throws {
        // Not one of those that the kernel gives to other tests meanwhile.
        let port = try FreePort.next()
        try await TestServer.run(on: ["127.0.0.1:\(port)"], threads: 2) { #expect($0.address.port == port) }
        // A program that is being started has a copy of each socket until it runs.
        ChildProcess.withoutStarts {}
        try await TestServer.run(on: ["127.0.0.1:\(port)"], threads: 2) { server in
            #expect(server.address.port == port)
            let client = try TestDNSClient(server.address)
            #expect(try client.ask("next.example").rcode == 0)
        }
    }

    @Test func `UDP and TCP of an address have the same port`() throws {
        let any = try #require(SocketAddress("127.0.0.1:0"))
        let sockets = try ServerSockets.bind([any, any], threads: 3)
        #expect(sockets.udp.map(\.receivers.count) == [3, 3])
        for (udp, tcp) in zip(sockets.udp, sockets.tcp) {
            #expect(udp.receivers.allSatisfy { $0.address == tcp.address })
        }
        #expect(sockets.addresses.allSatisfy { $0.port != 0 })
    }
}

extension TestServer {
    /// Whether nothing is left of a listener that began to accept and has stopped.
    @Loop
    fileprivate func forgetsListener() async throws -> Bool {
        let socket = try ListeningSocket(try #require(SocketAddress("127.0.0.1:0")))
        let events = EventLog(.silent, clock: Self.loop)
        var listener: Listener? = Listener(socket, of: server.serving.plain, events: events) { _, _ in }
        let isGone = { [weak listener] in listener == nil }
        try listener?.start()
        listener?.stop()
        listener = nil
        await turn()
        return isGone()
    }
}
