import DNSWire
import Glibc
import Platform
import TestServers
import TestSupport
import Testing

@testable import DNSServer

struct TCPServingTests {
    @Test(arguments: ["127.0.0.1", "::1"])
    func `hits and misses are answered on one connection`(host: String) async throws {
        try await TestServer.run(on: [host], responder: .address("192.0.2.9")) { server in
            try server.store("hit.example", address: "192.0.2.53")
            let client = try TestTCPClient(server.address)
            #expect(try client.ask(.query("hit.example")).addresses == ["192.0.2.53"])
            #expect(try client.ask(.query("miss.example")).addresses == ["192.0.2.9"])
            #expect(try client.ask(.query("hit.example")).addresses == ["192.0.2.53"])
        }
    }

    @Test func `answers come as they are ready, not in the order of the queries`() async throws {
        try await TestServer.run(responder: FakeResponder()) { server in
            try server.store("hit.example")
            let client = try TestTCPClient(server.address)
            try client.send([.query("one.example"), .query("two.example"), .query("hit.example")])
            #expect(try client.receive()?.questions == [.init("hit.example")])
            await server.responder.asked(2)
            await server.responder.release("two.example")
            #expect(try client.receive()?.questions == [.init("two.example")])
            await server.responder.release("one.example")
            #expect(try client.receive()?.questions == [.init("one.example")])
        }
    }

    @Test(arguments: [[0, 0], [0, 1], [0, 11], [0, 0, 0, 30]] as [[UInt8]])
    func `a length that no message has closes the connection`(bytes: [UInt8]) async throws {
        try await TestServer.run { server in
            let client = try TestTCPClient(server.address)
            try client.send(bytes)
            #expect(client.isClosed(within: .patience))
            #expect(try TestTCPClient(server.address).ask(.query("next.example")).rcode == 0)
        }
    }

    @Test func `a message shorter than its length is never answered`() async throws {
        try await TestServer.run { server in
            let client = try TestTCPClient(server.address)
            try client.send([0xff, 0xff] + TestMessage.query("short.example").encoded)
            client.finishSending()
            #expect(client.isClosed(within: .patience))
            #expect(await server.responder.questions.isEmpty)
        }
    }

    @Test func `a client that has ended its side still gets its answers`() async throws {
        try await TestServer.run(responder: FakeResponder()) { server in
            let client = try TestTCPClient(server.address)
            try client.send([.query("one.example"), .query("two.example")])
            client.finishSending()
            await server.responder.asked(2)
            await server.responder.release("two.example")
            #expect(try client.receive()?.questions == [.init("two.example")])
            await server.responder.release("one.example")
            #expect(try client.receive()?.questions == [.init("one.example")])
            #expect(client.isClosed(within: .patience))
        }
    }

    @Test func `a connection that is gone loses its answers, and no other does`() async throws {
        try await TestServer.run(responder: FakeResponder()) { server in
            var client: TestTCPClient? = try TestTCPClient(server.address)
            try client?.send([.query("gone.example")])
            await server.responder.asked(1)
            client = nil
            let other = try TestTCPClient(server.address)
            try other.send([.query("here.example")])
            await server.responder.asked(2)
            await server.responder.release()
            #expect(try other.receive()?.questions == [.init("here.example")])
        }
    }

    @Test func `a connection that waits for an answer is not quiet`() async throws {
        var limits = TestServer.limits
        limits.idle = .seconds(1)
        let sockets = try ServerSockets.bind([try #require(SocketAddress("127.0.0.1:0"))], threads: 1)
        // Sent before the server accepts, so that the query is there in time on any machine.
        let client = try TestTCPClient(TestAddress("127.0.0.1", port: sockets.addresses[0].port))
        try client.send([.query("slow.example")])
        try await TestServer.run(sockets, limits: limits, responder: FakeResponder()) { server in
            await server.responder.asked(1)
            #expect(!client.isClosed(within: .seconds(2)))
            await server.responder.release()
            let reply = try client.receive()
            #expect(reply?.rcode == 0)
            #expect(client.isClosed(within: .patience))
        }
    }

    @Test func `a query that waits for its turn keeps its connection, however long that was quiet`() async throws {
        let limits = ServerLimits.test { ($0.idle, $0.intake) = (.milliseconds(500), 1) }
        try await TestServer.run(limits: limits) { server in
            let clients = try (0..<4).map { _ in try TestTCPClient(server.address) }
            for client in clients { #expect(try client.ask(.query("one.example")).rcode == 0) }
            let gate = LoopGate()
            gate.close()
            for (index, client) in clients.enumerated() { try client.send([.query("name\(index).example")]) }
            usleep(700_000)
            gate.open()
            for client in clients { #expect(try client.receive()?.rcode == 0) }
        }
    }

    @Test func `bytes of a query that never gets whole do not keep a connection open`() async throws {
        try await TestServer.run(limits: .test { $0.idle = .milliseconds(100) }) { server in
            let client = try TestTCPClient(server.address)
            try client.send([1, 0])
            var isClosed = false
            for _ in 0..<1_500 where !isClosed {
                try? client.send([0])
                isClosed = client.isClosed(within: .milliseconds(20))
            }
            #expect(isClosed)
        }
    }

    @Test(arguments: ["hit.example", "miss.example"])
    func `the keepalive option has our idle time-out, and is sent to none without it`(name: String) async throws {
        try await TestServer.run(limits: .test { $0.idle = .seconds(10) }) { server in
            try server.store("hit.example")
            let query = TestMessage.query(name, edns: TestEDNS(options: [.init(11)]))
            let client = try TestTCPClient(server.address)
            #expect(try client.ask(.query(name, edns: TestEDNS())).edns?.options == [])
            let reply = try client.ask(query)
            #expect(reply.rcode == 0)
            // 10 s in units of 100 ms.
            #expect(reply.edns?.option(11) == [0, 100])
        }
    }

    @Test func `an ignored message leaves the connection open`() async throws {
        try await TestServer.run { server in
            let client = try TestTCPClient(server.address)
            var response = TestMessage.query("loop.example")
            response.flags |= 0x8000
            try client.send([response, .query("next.example")])
            #expect(try client.receive()?.questions == [.init("next.example")])
        }
    }
}
