import CSystem.Linux
import DNSResolver
import DNSWire
import Glibc
import Platform
import TestServers
import TestSupport
import Testing

@testable import DNSServer

struct UDPServingTests {
    @Test(arguments: ["127.0.0.1", "::1"])
    func `a cached name is answered without the resolver, which answers what is not cached`(host: String) async throws {
        try await TestServer.run(on: [host], responder: .address("192.0.2.9")) { server in
            try server.store("example.net", address: "192.0.2.53")
            #expect(try TestDNSClient(server.address).ask("example.net").addresses == ["192.0.2.53"])
            #expect(await server.responder.questions.isEmpty)
            let reply = try TestDNSClient(server.address).ask("Example.COM")
            #expect(reply.addresses == ["192.0.2.9"])
            #expect(reply.questions == [.init("Example.COM")])
            #expect(reply.recursionAvailable)
        }
    }

    @Test func `the resolver gets client, question and time`() async throws {
        try await TestServer.run { server in
            let before = Instant.bootTime
            let query = TestMessage.query("WWW.example", 28, flags: 0x0110, edns: TestEDNS(flags: 0x8000))
            _ = try TestDNSClient(server.address, from: "127.3.2.1").ask(query)
            let question = try #require(await server.responder.questions.first)
            #expect("\(question.question)" == "WWW.example AAAA")
            #expect(question.dnssecOK)
            #expect(question.checkingDisabled)
            #expect("\(question.client)" == "127.3.2.1")
            #expect(question.arrived >= before)
            #expect(question.arrived <= .bootTime)
        }
    }

    @Test(arguments: [
        ("0.0.0.0", "127.0.0.1"), ("0.0.0.0", "127.0.0.9"), ("0.0.0.0", "127.8.8.8"), ("::", "::1"),
    ])
    func `a wildcard socket replies from the address asked`(wildcard: String, asked: String) async throws {
        try await TestServer.run(on: [wildcard]) { server in
            try server.store("hit.example")
            let client = try TestDNSClient(TestAddress(asked, port: server.address.port))
            // `ask` refuses a response from another address.
            #expect(try client.ask("hit.example").rcode == 0)
            #expect(try client.ask("miss.example").rcode == 0)
        }
    }

    @Test func `hits and misses are counted by their sources, with the time that they took`() async throws {
        try await TestServer.run { server in
            try server.store("hit.example")
            let client = try TestDNSClient(server.address)
            for _ in 0..<3 { #expect(try client.ask("hit.example").rcode == 0) }
            #expect(try client.ask("miss.example").rcode == 0)
            var counts: [Int] = []
            for kind in AnswerKind.allCases { counts.append(await server.server.latencies(kind).counts.reduce(0, +)) }
            #expect(counts[AnswerKind.cache.rawValue] == 3 && counts.reduce(0, +) == 4)
        }
    }

    @Test func `an answer that comes after the client got SERVFAIL is not sent`() async throws {
        var limits = TestServer.limits
        limits.answer = .milliseconds(50)
        try await TestServer.run(limits: limits, responder: FakeResponder()) { server in
            let client = try TestDNSClient(server.address)
            let failure = try client.ask("late.example")
            #expect(failure.rcode == 2 && failure.extendedErrors == [22])
            await server.responder.release("late.example")
            await server.turn()
            try client.send(TestMessage.query("next.example"))
            await server.responder.asked(2)
            await server.responder.release("next.example")
            #expect(try client.receive().message.questions == [.init("next.example")])
        }
    }

    @Test(arguments: [(1_232, 0), (1_233, 1)])
    func `a query of 1,232 bytes is answered, and one byte more is a format error`(length: Int, code: Int)
        async throws
    {
        try await TestServer.run { server in
            func query(padding: Int) -> TestMessage {
                let option = TestEDNS.Option(12, [UInt8](repeating: 0, count: padding))
                return .query("long.example", id: 7, edns: TestEDNS(options: [option]))
            }
            let query = query(padding: length - query(padding: 0).encoded.count)
            #expect(query.encoded.count == length)
            let reply = try TestDNSClient(server.address).ask(query)
            #expect(reply.rcode == code && reply.questions == query.questions)
        }
    }

    @Test(arguments: [(512, 1), (1_232, 1), (4_096, 1), (512, 0), (4_096, 0)])
    func `an answer that does not fit becomes TC, and comes whole over TCP`(size: Int, isCached: Int) async throws {
        let name = try Name("big.example")
        let addresses = (0..<100).map { IPAddress.v4(0xc000_0200 + UInt32($0)) }
        let answer = Answer(name: name, addresses: addresses, ttl: 60)
        let responder = FakeResponder { Response(answer, for: $0.question) }
        try await TestServer.run(responder: responder) { server in
            if isCached == 1 { try server.store("big.example", answer) }
            let query = TestMessage.query("big.example", edns: TestEDNS(size: UInt16(size)))
            let reply = try TestDNSClient(server.address).ask(query)
            #expect(reply.isTruncated)
            #expect(reply.answers.isEmpty)
            #expect(reply.edns?.size == 1_232)
            let whole = try TestTCPClient(server.address).ask(query)
            #expect(!whole.isTruncated)
            #expect(whole.answers.count == 100)
        }
    }

    @Test func `responses and rubbish are not answered, and what follows is`() async throws {
        try await TestServer.run { server in
            let client = try TestDNSClient(server.address)
            for bytes in [[], [1], [UInt8](repeating: 0, count: 11)] { try client.send(bytes) }
            var response = TestMessage.query("loop.example")
            response.flags |= 0x8000
            try client.send(response)
            let query = TestMessage.query("next.example")
            try client.send(query)
            #expect(try client.receive().message.id == query.id)
        }
    }
}

@Suite(.onLoop) struct ReplyOutboxTests {
    @Test @Loop func `responses that were sent leave their room to the next ones`() throws {
        let socket = try UDPSocket.bind(try #require(SocketAddress("127.0.0.1:0"))).sender
        let (outbox, path) = (ReplyOutbox(on: TestServer.loop), DatagramPath(socket: socket, origin: clinux_origin()))
        func add() -> ArraySlice<UInt8> {
            outbox.add(by: path, limit: 100) { output in for _ in 0..<60 { output.append(7) } }
        }
        for count in 1...3 {
            let places = [add(), add()].map(\.indices)
            #expect(places == [0..<60, 60..<120])
            outbox.flush()
            #expect(outbox.sends == count)
        }
    }

    /// Any machine of a network can ask in the name of a neighbour that answers no ARP: what is sent there waits some 3 s in the
    /// buffer of its socket.
    @Test(.enabled(if: NetworkNamespace.arePermitted, "no leave to make network namespaces")) @Loop
    func `replies to neighbours that are silent hold up none to another client`() throws {
        let (host, other) = (try NetworkNamespace(), try NetworkNamespace())
        try NetworkNamespace.link(host, "10.9.0.1/24", other, "10.9.0.2/24")
        let sender = try host.inside { try UDPSocket.bind(SocketAddress(ipv4: 0x0a09_0001, port: 0)).sender }
        let client = try other.inside { try UDPSocket.bind(SocketAddress(ipv4: 0x0a09_0002, port: 0)) }
        let outbox = ReplyOutbox(on: TestServer.loop)
        func send(to address: SocketAddress, _ count: Int) {
            let path = DatagramPath(socket: sender, origin: clinux_origin(to: address))
            for _ in 0..<count { _ = outbox.add(by: path, limit: 1_232) { output in output.append(7) } }
            outbox.flush()
        }
        // Of the least size.
        for number in sender.numbers {
            var size: Int32 = 0
            #expect(setsockopt(number, SOL_SOCKET, SO_SNDBUF, &size, socklen_t(MemoryLayout<Int32>.size)) == 0)
        }
        send(to: SocketAddress(ipv4: 0x0a09_004d, port: 53), 10)
        send(to: client.sender.address, 1)
        var ready = pollfd(fd: client.receivers[0].descriptor.number, events: Int16(POLLIN), revents: 0)
        // Sooner than the neighbour is given up.
        #expect(poll(&ready, 1, 2_000) == 1)
        withExtendedLifetime(client) {}
    }
}

extension clinux_origin {
    /// Where the response to a client goes.
    init(to client: SocketAddress) {
        self.init()
        client.withSockaddr { address, length in
            memcpy(&peer, address, Int(length))
            peer_length = length
        }
    }
}
