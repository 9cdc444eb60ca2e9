import DNSResolver
import DNSWire
import Glibc
import Platform
import TestServers
import TestSupport
import Testing

@testable import DNSServer

/// Misses over connections: each is asked in the turn in which it is read, and no more in a turn than are taken over UDP.
struct ConnectionQueriesTests {
    /// The client of each question, and the turn of the loop in which it was asked.
    @Loop
    private final class Record {
        private(set) var asked: [(client: String, turn: UInt64)] = []

        nonisolated init() {}

        func add(_ question: ClientQuestion) { asked.append(("\(question.client)", TestServer.loop.turns)) }

        /// How many had been asked before the last question of a client.
        func before(lastOf client: String) -> Int? { asked.lastIndex { $0.client == client } }

        /// How many were asked in the turn in which most were.
        func mostInTurn() -> Int { Dictionary(grouping: asked, by: \.turn).values.map(\.count).max() ?? 0 }
    }

    /// A server whose questions are recorded, and answered at once or held.
    @concurrent
    private static func run(
        isHolding: Bool = true, limits: ServerLimits = TestServer.limits,
        _ body: @concurrent (TestServer, Record) async throws -> Void
    ) async throws {
        let record = Record()
        let responder = FakeResponder { question in
            record.add(question)
            return isHolding ? nil : .address("192.0.2.1", for: question.question)
        }
        try await TestServer.run(limits: limits, responder: responder) { server in
            try server.store("hit.example")
            try await body(server, record)
        }
    }

    /// Connections of a client, of which the server has read something.
    private static func connect(_ count: Int = 1, from client: String, to server: TestServer) throws -> [TestTCPClient]
    {
        try (0..<count).map { _ in
            let connection = try TestTCPClient(server.address, from: client)
            #expect(try connection.ask(.query("hit.example")).rcode == 0)
            return connection
        }
    }

    private static func queries(_ count: Int, of client: String) -> [TestMessage] {
        (0..<count).map { .query("\(client.replacing(".", with: "-"))-\($0).example", id: UInt16($0)) }
    }

    /// A connection over HTTP/2 from its beginning on, with so many requests.
    private static func requests(_ count: Int, of client: String) -> [UInt8] {
        queries(count, of: client).enumerated().reduce(Frames.preface + Frames.frame(.settings)) { bytes, query in
            bytes + Frames.headers(UInt32(2 * query.offset + 1), Frames.request("GET", query.element.target()))
        }
    }

    // MARK: At once

    @Test func `a miss over a connection is asked in the turn in which it is read`() async throws {
        try await Self.run { server, record in
            let began = try await server.admitQuery()
            await server.responder.asked(1)
            #expect(await record.asked[0].turn == began + 1)
        }
    }

    @Test func `a miss that comes in another form is asked before the call returns`() async throws {
        try await Self.run { server, _ in
            let count = try await server.questionsAfterOne()
            #expect(count == 1)
        }
    }

    @Test func `a long query over TCP is answered like a short one, however many wait over UDP`() async throws {
        try await Self.run(isHolding: false) { server, _ in
            let client = try Self.connect(from: "127.0.0.1", to: server)[0]
            let flood = try TestDNSClient(server.address)
            let gate = LoopGate()
            gate.close()
            for query in Self.queries(200, of: "127.0.0.1") { try flood.send(query) }
            // The thread has handled those before.
            #expect(try flood.ask("hit.example").rcode == 0)
            let padding = TestEDNS(options: [.init(12, [UInt8](repeating: 0, count: 500))])
            try client.send([.query("long.example", edns: padding), .query("short.example")])
            gate.open()
            for _ in 0..<2 { #expect(try client.receive()?.rcode == 0) }
        }
    }

    @Test func `what a response makes room for on its connection is not asked within it`() async throws {
        try await Self.run(limits: .test { $0.pendingPerConnection = 1 }) { server, _ in
            let client = try Self.connect(from: "127.0.0.1", to: server)[0]
            try client.send(Self.queries(2, of: "127.0.0.1"))
            await server.responder.asked(1)
            #expect(await server.questionsAfterRelease() == 1)
            await server.responder.asked(2)
            await server.responder.release()
            for id: UInt16 in 0..<2 {
                let reply = try client.receive()
                #expect(reply?.id == id)
            }
        }
    }

    @Test(arguments: [true, false])
    func `queries that have been read are all answered when their client, or the server, ends the connection`(
        isClient: Bool
    ) async throws {
        try await Self.run(isHolding: false) { server, _ in
            let client = try Self.connect(from: "127.0.0.1", to: server)[0]
            try client.send(Self.queries(400, of: "127.0.0.1"))
            if isClient {
                client.finishSending()
            } else {
                await server.responder.asked(1)
                await server.server.stop()
            }
            for id: UInt16 in 0..<400 {
                let reply = try client.receive()
                #expect(reply?.id == id)
            }
            #expect(client.isClosed(within: .patience))
        }
    }

    // MARK: So many in a turn

    @Test func `many misses that come together and are answered at once take several turns`() async throws {
        try await Self.run(isHolding: false) { server, record in
            let client = try Self.connect(from: "127.0.0.1", to: server)[0]
            try client.send(Self.queries(400, of: "127.0.0.1"))
            for id: UInt16 in 0..<400 {
                let reply = try client.receive()
                #expect(reply?.id == id)
            }
            #expect(await record.mostInTurn() <= TestServer.limits.intake)
        }
    }

    @Test func `a client over TCP has its equal part beside one with many connections over HTTPS`() async throws {
        try await Self.run { server, record in
            var flood: [HTTPSClient] = []
            for _ in 0..<20 {
                flood.append(try await HTTPSClient(server, alpn: "h2", address: "127.0.0.2:5000"))
            }
            let other = try Self.connect(from: "127.0.0.3", to: server)[0]
            let gate = LoopGate()
            gate.close()
            for (number, client) in flood.enumerated() { client.send(Self.requests(90, of: "flood\(number)")) }
            try other.send(Self.queries(100, of: "other"))
            gate.open()
            await server.responder.asked(1_900)
            let before = try #require(await record.before(lastOf: "127.0.0.3"))
            #expect(before < 2 * 100 + 4 * TestServer.limits.intake)
        }
    }

    @Test func `a flood over TCP takes no more than half of what the loop does from clients over UDP`() async throws {
        try await Self.run { server, record in
            let flood = try Self.connect(20, from: "127.0.0.2", to: server)
            let other = try TestDNSClient(server.address, from: "127.0.0.3")
            let gate = LoopGate()
            gate.close()
            for (number, client) in flood.enumerated() { try client.send(Self.queries(100, of: "flood\(number)")) }
            for query in Self.queries(200, of: "other") { try other.send(query) }
            #expect(try other.ask("hit.example").rcode == 0)
            gate.open()
            await server.responder.asked(2_200)
            let before = try #require(await record.before(lastOf: "127.0.0.3"))
            #expect(before < 2 * 200 + 4 * TestServer.limits.intake)
        }
    }

    @Test func `a flood over UDP from many addresses does not come before a client over TCP`() async throws {
        try await Self.run { server, record in
            let client = try Self.connect(from: "127.0.0.3", to: server)[0]
            let flood = try (1...250).map { try TestDNSClient(server.address, from: "127.0.1.\($0)") }
            let gate = LoopGate()
            gate.close()
            for (number, each) in flood.enumerated() {
                for query in Self.queries(4, of: "flood\(number)") { try each.send(query) }
            }
            for each in flood { #expect(try each.ask("hit.example").rcode == 0) }
            try client.send([.query("www.example")])
            gate.open()
            await server.responder.asked(1_001)
            let before = try #require(await record.before(lastOf: "127.0.0.3"))
            #expect(before < 4 * TestServer.limits.intake)
        }
    }
}

extension TestServer {
    /// Admits a connection by which a query has come. Returns the turn of the loop in which it did.
    @Loop
    fileprivate func admitQuery() throws -> UInt64 {
        var pair: [Int32] = [0, 0]
        try #require(socketpair(AF_UNIX, Int32(SOCK_STREAM.rawValue | SOCK_NONBLOCK.rawValue), 0, &pair) == 0)
        defer { close(pair[1]) }
        let bytes = TestMessage.query("www.example").framed
        try #require(write(pair[1], bytes, bytes.count) == bytes.count)
        server.serving.admit(Descriptor(owning: pair[0]), from: try #require(SocketAddress("127.0.0.1:1")))
        return Self.loop.turns
    }

    /// How many questions there are right after a query that comes in another form than over UDP or TCP.
    @Loop
    fileprivate func questionsAfterOne() throws -> Int {
        server.answer(
            TestMessage.query("www.example").encoded, from: try #require(SocketAddress("127.0.0.1:1")),
            isTrusted: false, isEncrypted: true
        ) { _ in }
        return responder.questions.count
    }

    /// How many questions there are right after all that are held are answered.
    @Loop
    fileprivate func questionsAfterRelease() -> Int {
        responder.release()
        return responder.questions.count
    }
}
